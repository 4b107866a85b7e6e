/* SPDX-License-Identifier: GPL-2.0-or-later */
// Words for a comparison, as in src/diff/verdict.c.
import { type Comparison } from "./data";
import { bytes, number, time } from "./words";

export const less = "#0072b2", more = "#d55e00";

export function value(amount: number | null, unit: string): string {
  if (amount === null) return "–";
  if (unit === "ns") return time(Math.round(amount));
  if (unit === "bytes") return bytes(Math.round(amount));
  const digits = amount >= 1000 ? number(amount) : String(Number(amount.toPrecision(3)));
  return unit ? `${digits} ${unit}` : digits;
}

export function signed(amount: number, unit: string): string {
  return `${amount < 0 ? "−" : "+"}${value(Math.abs(amount), unit)}`;
}

// "+16.5 %", "× 14.9", "new", "gone"
export function ratio(before: number, after: number): string {
  if (before === after) return "+0.0 %";
  if (!(before > 0)) return "new";
  const percent = (after / before - 1) * 100;
  if (percent <= -100) return "gone";
  if (percent >= 1000) return `× ${value(percent / 100 + 1, "")}`;
  return `${percent < 0 ? "−" : "+"}${Math.abs(percent).toFixed(Math.abs(percent) < 100 ? 1 : 0)} %`;
}

export function chance(probability: number | null): string {
  return probability === null ? "–" : probability < 0.001 ? "<0.001" : probability.toFixed(3);
}

export function perWords(diff: Comparison): string {
  return `per ${diff.per}`;
}
