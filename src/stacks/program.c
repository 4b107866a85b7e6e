/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interprets CFA programs: instructions that advance the code address and change the rules. Only
 * three rules matter here: those of the CFA, of the frame pointer and of the return address. All
 * others are skipped. libdw has an interpreter too (dwarf_cfi_addrframe), but it starts again for
 * every address.
 */
#include <dwarf.h>
#include <errno.h>

#include "stacks/cfi.h"

#define MOST_REMEMBERED 16
#define OPERAND_MASK    0x3f

struct program {
	const struct section *section;
	const struct common *common;
	struct cursor code;
	struct rules rules;
	struct rules begins; /* for DW_CFA_restore */
	struct rules remembered[MOST_REMEMBERED];
	unsigned depth;
	uint64_t address;
	struct span *span;     /* NULL in a CIE */
	struct frames *frames; /* NULL in a CIE */
};

/* --- rules → row ---------------------------------------------------------------------------- */

/* The encoding of a register saved at the low end of the frame, or in the 8 bytes above. 0:
 * neither. */
static uint8_t saved_at_base(const struct rules *rules, int64_t at)
{
	uint64_t above = (uint64_t)at + (uint64_t)rules->cfa_offset;

	return !above ? UNWIND_AT_BASE : above == 8 ? UNWIND_ABOVE_BASE : 0;
}

/* The encoding in a row of a register saved at CFA + `at`, see UNWIND_BP_AT_BP. 0: not possible. */
static uint8_t saved_at(const struct rules *rules, int64_t at)
{
	if (at < 0 && at % 8 == 0 && at >= -8 * UNWIND_MOST_SAVED)
		return (uint8_t)(-at / 8);
	return ARCH_LINK_REGISTER && !rules->expression ? saved_at_base(rules, at) : 0;
}

/* Sets the rules of the frame pointer and of the return address; false: one is not supported. */
static bool set_saved(const struct rules *rules, struct unwind_row *row)
{
	if (rules->bp == BP_AT_BP)
		row->bp = UNWIND_BP_AT_BP;
	else if (rules->bp == BP_SAVED)
		row->bp = saved_at(rules, rules->bp_at);
	if (rules->bp == BP_UNSUPPORTED || (rules->bp != BP_KEPT && !row->bp))
		return false;
	if (!ARCH_LINK_REGISTER)
		return rules->caller == CALLER_SAVED && rules->caller_at == -8;
	if (rules->caller == CALLER_SAVED)
		row->link = saved_at(rules, rules->caller_at);
	return rules->caller == CALLER_KEPT || row->link;
}

static struct unwind_row row_of(const struct rules *rules)
{
	struct unwind_row row = { .kind = rules->expression };
	const struct unwind_row hard = { .kind = UNWIND_UNSUPPORTED };

	if (rules->caller == CALLER_NONE)
		return (struct unwind_row) { .kind = UNWIND_END };
	if (row.kind == UNWIND_UNSUPPORTED || rules->cfa_offset != (int32_t)rules->cfa_offset ||
	    !set_saved(rules, &row))
		return hard;
	row.offset = (int32_t)rules->cfa_offset;
	if (row.kind)
		return row;
	if (rules->cfa_register == ARCH_DWARF_SP)
		row.kind = UNWIND_SP;
	else if (rules->cfa_register == ARCH_DWARF_FP)
		row.kind = UNWIND_BP;
	else if (rules->cfa_register < ARCH_REGISTERS)
		row.kind = UNWIND_REGISTER + (uint8_t)rules->cfa_register;
	else
		return hard;
	return row;
}

/* --- expressions ---------------------------------------------------------------------------- */

/*
 * Linkers describe the PLT by "rsp + 8", plus 8 more if the low four bits of rip are at least N. N
 * is 11, or less with branch tracking. This checks the part after "rsp + 8".
 */
static bool is_plt(struct cursor code, int64_t *ret_least)
{
	uint8_t least;

	if (cursor__byte(&code) != DW_OP_breg16 || cursor__signed(&code) != 0 ||
	    cursor__byte(&code) != DW_OP_lit15 || cursor__byte(&code) != DW_OP_and)
		return false;
	least = cursor__byte(&code);
	if (least < DW_OP_lit0 || least > DW_OP_lit15 || cursor__byte(&code) != DW_OP_ge ||
	    cursor__byte(&code) != DW_OP_lit3 || cursor__byte(&code) != DW_OP_shl ||
	    cursor__byte(&code) != DW_OP_plus || code.bad || code.at != code.end)
		return false;
	*ret_least = least - DW_OP_lit0;
	return true;
}

static void set_cfa_expression(struct rules *rules, struct cursor code)
{
	uint8_t base = cursor__byte(&code);
	int64_t offset = cursor__signed(&code);

	rules->expression = UNWIND_UNSUPPORTED;
	rules->cfa_offset = offset;
	if (code.bad)
		return;
	if (!ARCH_LINK_REGISTER && base == DW_OP_breg0 + ARCH_DWARF_SP && offset == 8 &&
	    is_plt(code, &rules->cfa_offset)) {
		rules->expression = UNWIND_PLT;
		return;
	}
	if (cursor__byte(&code) != DW_OP_deref)
		return;
	if (base == DW_OP_breg0 + ARCH_DWARF_FP && code.at == code.end)
		rules->expression = UNWIND_BP_DEREF;
	else if (base == DW_OP_breg0 + ARCH_DWARF_SP && cursor__byte(&code) == DW_OP_plus_uconst &&
		 cursor__unsigned(&code) == 8 && !code.bad && code.at == code.end)
		rules->expression = UNWIND_SP_DEREF;
}

/* The place where a register is saved is given by an expression. */
static void set_expression(struct rules *rules, uint64_t reg, struct cursor code)
{
	if (reg == ARCH_DWARF_RETURN) {
		rules->caller = CALLER_UNKNOWN;
	} else if (reg == ARCH_DWARF_FP) {
		bool is_at_bp = cursor__byte(&code) == DW_OP_breg0 + ARCH_DWARF_FP &&
				cursor__signed(&code) == 0 && !code.bad && code.at == code.end;

		rules->bp = is_at_bp ? BP_AT_BP : BP_UNSUPPORTED;
	}
}

/* --- register rules --------------------------------------------------------------------------- */

/* The register is saved at CFA + offset. */
static void set_offset(struct rules *rules, uint64_t reg, int64_t offset)
{
	if (reg == ARCH_DWARF_RETURN) {
		rules->caller = CALLER_SAVED;
		rules->caller_at = offset;
	} else if (reg == ARCH_DWARF_FP) {
		rules->bp = BP_SAVED;
		rules->bp_at = offset;
	}
}

/* The register is not saved. `is_lost`: its value is undefined. */
static void set_unsaved(struct rules *rules, uint64_t reg, bool is_lost)
{
	if (reg == ARCH_DWARF_RETURN) {
		rules->caller = is_lost ? CALLER_NONE : CALLER_KEPT;
	} else if (reg == ARCH_DWARF_FP) {
		rules->bp = BP_KEPT;
	}
}

/* The value is in another register, or computed: not supported. */
static void set_unsupported(struct rules *rules, uint64_t reg)
{
	if (reg == ARCH_DWARF_RETURN)
		rules->caller = CALLER_UNKNOWN;
	else if (reg == ARCH_DWARF_FP)
		rules->bp = BP_UNSUPPORTED;
}

static void restore(struct program *program, uint64_t reg)
{
	struct rules *rules = &program->rules;

	if (reg == ARCH_DWARF_RETURN) {
		rules->caller = program->begins.caller;
		rules->caller_at = program->begins.caller_at;
	} else if (reg == ARCH_DWARF_FP) {
		rules->bp = program->begins.bp;
		rules->bp_at = program->begins.bp_at;
	}
}

static int set_cfa(struct rules *rules, uint64_t reg, int64_t offset)
{
	rules->expression = UNWIND_NONE;
	rules->cfa_register = reg;
	rules->cfa_offset = offset;
	return 0;
}

/* --- instructions --------------------------------------------------------------------------- */

static int64_t scale(uint64_t factor, int64_t align)
{
	return (int64_t)(factor * (uint64_t)align);
}

/* The current rules are in force up to `address`. Beyond the end of the span, they are ignored. */
static int move_to(struct program *program, uint64_t address)
{
	int err = 0;

	if (!program->span)
		return -EBADMSG;
	if (address > program->address && program->address < program->span->end)
		err = frames__add_place(program->frames, program->span, program->address,
					row_of(&program->rules));
	program->address = address;
	return err;
}

static int advance(struct program *program, uint64_t delta)
{
	uint64_t address;

	if (__builtin_mul_overflow(delta, program->common->code_align, &delta) ||
	    __builtin_add_overflow(program->address, delta, &address))
		return -EBADMSG;
	return move_to(program, address);
}

static int set_location(struct program *program)
{
	uint64_t address =
		cfi__pointer(program->section, &program->code, program->common->encoding);

	return address < program->address ? -EBADMSG : move_to(program, address);
}

static int remember(struct program *program)
{
	if (program->depth == MOST_REMEMBERED)
		return -EBADMSG;
	program->remembered[program->depth++] = program->rules;
	return 0;
}

static int recall(struct program *program)
{
	if (!program->depth)
		return -EBADMSG;
	program->rules = program->remembered[--program->depth];
	return 0;
}

/*
 * The rule of the CFA. An instruction that changes only the register or only the offset is invalid
 * if the rule is an expression.
 */
static int run_cfa(struct program *program, uint8_t opcode)
{
	struct cursor *code = &program->code;
	struct rules *rules = &program->rules;
	bool is_whole = opcode == DW_CFA_def_cfa || opcode == DW_CFA_def_cfa_sf;
	uint64_t reg = rules->cfa_register;

	if (opcode == DW_CFA_def_cfa_expression) {
		set_cfa_expression(rules, cursor__block(code, cursor__unsigned(code)));
		return 0;
	}
	if (!is_whole && rules->expression)
		return -EBADMSG;
	if (is_whole || opcode == DW_CFA_def_cfa_register)
		reg = cursor__unsigned(code);
	if (opcode == DW_CFA_def_cfa_register)
		return set_cfa(rules, reg, rules->cfa_offset);
	if (opcode == DW_CFA_def_cfa || opcode == DW_CFA_def_cfa_offset)
		return set_cfa(rules, reg, (int64_t)cursor__unsigned(code));
	return set_cfa(rules, reg,
		       scale((uint64_t)cursor__signed(code), program->common->data_align));
}

/* Instructions whose first operand is a register number. */
static int run_register(struct program *program, uint8_t opcode)
{
	struct cursor *code = &program->code;
	struct rules *rules = &program->rules;
	int64_t align = program->common->data_align;
	uint64_t reg = cursor__unsigned(code);

	switch (opcode) {
	case DW_CFA_offset_extended:
		set_offset(rules, reg, scale(cursor__unsigned(code), align));
		return 0;
	case DW_CFA_offset_extended_sf:
		set_offset(rules, reg, scale((uint64_t)cursor__signed(code), align));
		return 0;
	case DW_CFA_GNU_negative_offset_extended:
		set_offset(rules, reg, scale(-cursor__unsigned(code), align));
		return 0;
	case DW_CFA_restore_extended:
		restore(program, reg);
		return 0;
	case DW_CFA_undefined:
	case DW_CFA_same_value:
		set_unsaved(rules, reg, opcode == DW_CFA_undefined);
		return 0;
	case DW_CFA_expression:
		set_expression(rules, reg, cursor__block(code, cursor__unsigned(code)));
		return 0;
	case DW_CFA_val_expression:
		cursor__block(code, cursor__unsigned(code));
		set_unsupported(rules, reg);
		return 0;
	case DW_CFA_register:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf: /* the value is skipped, so its sign does not matter */
		cursor__unsigned(code);
		set_unsupported(rules, reg);
		return 0;
	default:
		return -EBADMSG;
	}
}

static int run_other(struct program *program, uint8_t opcode)
{
	struct cursor *code = &program->code;

	switch (opcode) {
	case DW_CFA_nop:
		return 0;
	case DW_CFA_advance_loc1:
		return advance(program, cursor__fixed(code, 1));
	case DW_CFA_advance_loc2:
		return advance(program, cursor__fixed(code, 2));
	case DW_CFA_advance_loc4:
		return advance(program, cursor__fixed(code, 4));
	case DW_CFA_MIPS_advance_loc8:
		return advance(program, cursor__fixed(code, 8));
	case DW_CFA_set_loc:
		return set_location(program);
	case DW_CFA_remember_state:
		return remember(program);
	case DW_CFA_restore_state:
		return recall(program);
	case DW_CFA_GNU_args_size:
		cursor__unsigned(code);
		return 0;
	case DW_CFA_GNU_window_save: /* on arm64: the return address is signed from here on */
		return ARCH_SIGNS_RETURN ? 0 : -EBADMSG;
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
	case DW_CFA_def_cfa_register:
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
	case DW_CFA_def_cfa_expression:
		return run_cfa(program, opcode);
	default:
		return run_register(program, opcode);
	}
}

static int run(struct program *program)
{
	struct cursor *code = &program->code;
	int err = 0;

	while (!err && code->at < code->end) {
		uint8_t opcode = *code->at++, operand = opcode & OPERAND_MASK;

		switch (opcode & ~OPERAND_MASK) {
		case DW_CFA_advance_loc:
			err = advance(program, operand);
			break;
		case DW_CFA_offset:
			set_offset(&program->rules, operand,
				   scale(cursor__unsigned(code), program->common->data_align));
			break;
		case DW_CFA_restore:
			restore(program, operand);
			break;
		default:
			err = run_other(program, opcode);
		}
	}
	return err ? err : code->bad ? -EBADMSG : 0;
}

int program__run_initial(const struct section *section, const struct common *common,
			 struct cursor code, struct rules *ret)
{
	struct program program = { .section = section, .common = common, .code = code };
	int err;

	/* No register has this number, so a CFA that is never defined gives UNWIND_UNSUPPORTED. */
	program.rules.cfa_register = UINT64_MAX;
	program.rules.caller = CALLER_KEPT;
	program.begins = program.rules;
	err = run(&program);
	if (!err)
		*ret = program.rules;
	return err;
}

int program__run(const struct section *section, const struct common *common, struct cursor code,
		 struct span *span, struct frames *frames)
{
	struct program program;
	int err;

	/* No initialiser: remembered[] is large and rarely used. */
	program.section = section;
	program.common = common;
	program.code = code;
	program.rules = program.begins = common->begins;
	program.depth = 0;
	program.address = span->begin;
	program.span = span;
	program.frames = frames;
	err = run(&program);
	return err ? err : move_to(&program, UINT64_MAX);
}
