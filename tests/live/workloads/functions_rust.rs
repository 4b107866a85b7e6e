/* SPDX-License-Identifier: GPL-2.0-or-later */
//! Calls functions, methods and generic functions known numbers of times. A panic passes through some of them.
use std::hint::black_box;
use std::panic;

mod shop {
    use std::hint::black_box;

    pub struct Cart {
        pub sum: u64,
    }

    impl Cart {
        #[inline(never)]
        pub fn add(&mut self, number: u64) {
            self.sum += black_box(number);
        }
    }

    #[inline(never)]
    pub fn largest<T: PartialOrd + Copy>(numbers: &[T]) -> T {
        let mut found = numbers[0];
        for &number in black_box(numbers) {
            if number > found {
                found = number;
            }
        }
        found
    }

    #[inline(never)]
    pub fn passes(number: u64) -> u64 {
        black_box(panics(number)) + 1
    }

    #[inline(never)]
    fn panics(number: u64) -> u64 {
        if black_box(number) > 0 {
            panic!("{}", number);
        }
        number
    }
}

fn main() {
    let mut cart = shop::Cart { sum: 0 };
    let mut caught = 0;

    panic::set_hook(Box::new(|_| {}));
    for i in 0..70 {
        cart.add(i);
        black_box(shop::largest(black_box(&[i, 3])));
    }
    for i in 0..30 {
        black_box(shop::largest(black_box(&[f64::from(i), 3.0])));
        caught += i32::from(panic::catch_unwind(|| shop::passes(1)).is_err());
    }
    println!("{} {}", caught, cart.sum);
}
