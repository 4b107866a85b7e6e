/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Restores the terminal after a crash or SIGKILL. SIGKILL cannot be caught, and a signal handler
 * after a crash may call almost nothing. But when a process ends for any reason, its end of a pipe
 * is closed before its parent is notified. So the process at the other end can clean up before the
 * shell writes its next prompt.
 *
 * The rescuer has its own process group, so signals that the terminal sends to our group do not end
 * it. If another process group owns the terminal when we end (a shell, while we are stopped), the
 * terminal was already given back, so the rescuer leaves it alone.
 */
#include "tui/rescue.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

static int told_fd = -1;
static pid_t rescuer;

/* The control sequences that leave the alternate screen and show the cursor. */
struct goodbye {
	char words[256];
	size_t length;
};

/* Leaves out padding such as "$<5/>", which only old hardware terminals need. */
static void append(struct goodbye *goodbye, const char *capability)
{
	const char *words = tigetstr(capability);

	if (!words || words == (const char *)-1)
		return;
	for (; *words && goodbye->length < sizeof(goodbye->words); words++) {
		const char *end = words[0] == '$' && words[1] == '<' ? strchr(words, '>') : NULL;

		if (end)
			words = end;
		else
			goodbye->words[goodbye->length++] = *words;
	}
}

static struct goodbye prepare(void)
{
	struct goodbye goodbye = {};
	int status;

	if (setupterm(NULL, STDOUT_FILENO, &status) != OK)
		return goodbye;
	append(&goodbye, "sgr0");
	append(&goodbye, "clear");
	append(&goodbye, "cnorm");
	append(&goodbye, "rmkx");
	append(&goodbye, "rmcup");
	return goodbye;
}

/* Returns when the other process ends or closes the pipe. True if that process had the terminal. */
static bool await_end(int fd)
{
	struct pollfd told = { .fd = fd, .events = POLLIN };
	bool ours = false;
	ssize_t got;

	do {
		char word;

		/*
		 * Wait in poll(), which counts as idle. A read() from a pipe counts as waiting for
		 * another thread.
		 */
		poll(&told, 1, -1);
		got = read(fd, &word, 1);
		if (got > 0)
			ours = word == '+';
	} while (got > 0 || (got < 0 && errno == EINTR));
	return ours;
}

static void stand_by(int fd, const struct termios *before)
{
	static const int ignored[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTTOU, SIGPIPE };
	pid_t job = getpgrp(), owner;
	struct goodbye goodbye;
	ssize_t written;

	/* The rescuer must end only when the other process does. */
	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	setpgid(0, 0);
	prctl(PR_SET_NAME, "gapless-rescue");
	goodbye = prepare();
	if (!await_end(fd))
		return;
	/*
	 * 0 or an error: nobody owns the terminal, because the other process was the session
	 * leader.
	 */
	owner = tcgetpgrp(STDOUT_FILENO);
	if (owner > 0 && owner != job)
		return;
	tcsetattr(STDOUT_FILENO, TCSANOW, before);
	written = write(STDOUT_FILENO, goodbye.words, goodbye.length);
	(void)written;
}

int rescue__start(void)
{
	struct termios before;
	int ends[2], err;

	if (tcgetattr(STDOUT_FILENO, &before) || pipe2(ends, O_CLOEXEC))
		return -errno;
	rescuer = fork();
	err = rescuer < 0 ? -errno : 0;
	if (!rescuer) {
		close(ends[1]);
		stand_by(ends[0], &before);
		_exit(0);
	}
	close(ends[0]);
	if (err)
		close(ends[1]);
	else
		told_fd = ends[1];
	return err;
}

void rescue__tell(bool ours)
{
	ssize_t written = told_fd < 0 ? 0 : write(told_fd, ours ? "+" : "-", 1);

	(void)written;
}

void rescue__stop(void)
{
	if (told_fd < 0)
		return;
	rescue__tell(false);
	close(told_fd);
	told_fd = -1;
	while (waitpid(rescuer, NULL, 0) < 0 && errno == EINTR)
		;
}
