/* SPDX-License-Identifier: GPL-2.0-or-later */
//! deep_rust MS: as deep, in Rust: trait objects, closures, and panics that are caught.
use std::panic;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const STEPS: u32 = 200;

static KEPT: AtomicU32 = AtomicU32::new(0);

/// Behind a call: it keeps the call from being the last thing, and so from being a jump.
fn keep_frame() {
    KEPT.fetch_add(1, Ordering::Relaxed);
}

#[inline(always)]
fn repeat_inlined(length: Duration, work: impl Fn()) {
    let begin = Instant::now();
    while begin.elapsed() < length {
        work();
    }
}

#[inline(never)]
fn bottom_burn(length: Duration) {
    repeat_inlined(length, || {
        for _ in 0..5000 {
            keep_frame();
        }
    });
    keep_frame();
}

#[inline(never)]
fn bottom_nap(length: Duration) {
    repeat_inlined(length, || thread::sleep(Duration::from_millis(2)));
    keep_frame();
}

#[inline(never)]
fn panic_from(left: u32) {
    if left == 0 {
        panic::panic_any(left);
    }
    panic_from(left - 1);
    keep_frame();
}

#[inline(never)]
fn bottom_panic(length: Duration) {
    repeat_inlined(length, || {
        let _ = panic::catch_unwind(|| panic_from(8));
    });
    keep_frame();
}

trait Walker {
    fn step_a(&self, left: u32);
    fn step_b(&self, left: u32);
    fn step_c(&self, left: u32);
}

struct Down<'a> {
    through: &'a dyn Fn(),
}

impl<'a> Down<'a> {
    #[inline(never)]
    fn itself(&self) -> &dyn Walker {
        self
    }
}

impl<'a> Walker for Down<'a> {
    #[inline(never)]
    fn step_a(&self, left: u32) {
        match left {
            0 => (self.through)(),
            _ => self.itself().step_b(left - 1),
        }
        keep_frame();
    }

    #[inline(never)]
    fn step_b(&self, left: u32) {
        match left {
            0 => (self.through)(),
            _ => self.itself().step_c(left - 1),
        }
        keep_frame();
    }

    #[inline(never)]
    fn step_c(&self, left: u32) {
        match left {
            0 => (self.through)(),
            _ => self.itself().step_a(left - 1),
        }
        keep_frame();
    }
}

fn run_variant(name: &str, through: impl Fn() + Send + 'static) {
    let body = move || Down { through: &through }.itself().step_a(STEPS - 1);
    let thread = thread::Builder::new().name(name.to_string()).spawn(body);
    thread.expect("a thread").join().expect("its end");
}

fn main() {
    let ms = std::env::args().nth(1).map_or(100, |arg| arg.parse().expect("a number"));
    let length = Duration::from_millis(ms);

    panic::set_hook(Box::new(|_| {}));
    run_variant("rust", move || {
        bottom_burn(length);
        bottom_nap(length);
    });
    run_variant("rust-panic", move || bottom_panic(length));
}
