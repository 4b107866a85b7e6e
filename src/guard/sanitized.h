/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether this is a build with AddressSanitizer, whose run-time library needs more than we do. */
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif
