/* SPDX-License-Identifier: GPL-2.0-or-later */
// Numbers as in the text report: three significant digits and a unit.

function scale(value: number, units: [number, string][]): string {
  const size = Math.abs(value);
  let i = 0;

  while (i + 1 < units.length && size / units[i]![0] >= 999.5) i++;
  const scaled = size / units[i]![0];
  const sign = value < 0 ? "-" : "";
  if (scaled >= 999.5) return `${sign}${number(Math.round(scaled))} ${units[i]![1]}`;
  return `${sign}${scaled.toFixed(i === 0 || scaled >= 99.95 ? 0 : scaled >= 9.995 ? 1 : 2)} ${units[i]![1]}`;
}

export function time(ns: number): string {
  return ns === 0 ? "0 s" : scale(ns, [[1, "ns"], [1e3, "µs"], [1e6, "ms"], [1e9, "s"]]);
}

export function bytes(value: number): string {
  return scale(value, [[1, "B"], [1e3, "kB"], [1e6, "MB"], [1e9, "GB"]]);
}

export function number(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

export function share(part: number, whole: number): string {
  const value = whole ? (100 * part) / whole : 0;

  if (part && value > 0 && value < 0.05) return "<0.1 %";
  return `${value.toFixed(1)} %`;
}

// A value of any measure of a signal.
export function amount(value: number, unit: string): string {
  if (unit === "ns") return time(value);
  if (unit === "bytes") return bytes(value);
  return unit ? count(Math.round(value), unit.replace(/(?<=ss|sh|ch|x)es$|s$/, ""), unit) : number(value);
}

export function seconds(us: number): string {
  return `${(us / 1e6).toFixed(us < 10e6 ? 2 : 1)} s`;
}

const errnos: Record<number, string> = {
  1: "EPERM", 2: "ENOENT", 3: "ESRCH", 4: "EINTR", 5: "EIO", 6: "ENXIO", 7: "E2BIG", 8: "ENOEXEC", 9: "EBADF", 10: "ECHILD",
  11: "EAGAIN", 12: "ENOMEM", 13: "EACCES", 14: "EFAULT", 16: "EBUSY", 17: "EEXIST", 18: "EXDEV", 19: "ENODEV", 20: "ENOTDIR",
  21: "EISDIR", 22: "EINVAL", 23: "ENFILE", 24: "EMFILE", 25: "ENOTTY", 26: "ETXTBSY", 27: "EFBIG", 28: "ENOSPC", 29: "ESPIPE",
  30: "EROFS", 31: "EMLINK", 32: "EPIPE", 34: "ERANGE", 35: "EDEADLK", 36: "ENAMETOOLONG", 38: "ENOSYS", 39: "ENOTEMPTY",
  40: "ELOOP", 61: "ENODATA", 62: "ETIME", 71: "EPROTO", 75: "EOVERFLOW", 88: "ENOTSOCK", 92: "ENOPROTOOPT", 95: "EOPNOTSUPP",
  97: "EAFNOSUPPORT", 98: "EADDRINUSE", 99: "EADDRNOTAVAIL", 101: "ENETUNREACH", 103: "ECONNABORTED", 104: "ECONNRESET",
  106: "EISCONN", 107: "ENOTCONN", 110: "ETIMEDOUT", 111: "ECONNREFUSED", 113: "EHOSTUNREACH", 114: "EALREADY",
  115: "EINPROGRESS", 122: "EDQUOT", 125: "ECANCELED",
};

export function errno(value: number): string {
  return value ? (errnos[value] ?? `errno ${value}`) : "";
}

// The file name of a path: "libfoo.so".
export function base(path: string | null): string {
  return path ? path.slice(path.lastIndexOf("/") + 1) || path : "";
}

// "1 thread", "12 threads"
export function count(value: number, one: string, many = `${one}s`): string {
  return `${number(value)} ${value === 1 ? one : many}`;
}
