/* SPDX-License-Identifier: GPL-2.0-or-later */
// A program with many generic functions, for the comparison with llvm-symbolizer.
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

trait Shape {
    fn area(&self) -> f64;
}
struct Box2<T>(T, T);
impl Shape for Box2<i32> {
    fn area(&self) -> f64 {
        (self.0 * self.1) as f64
    }
}
impl Shape for Box2<f64> {
    fn area(&self) -> f64 {
        self.0 * self.1
    }
}

fn count(text: &str) -> (HashMap<String, usize>, BTreeMap<String, usize>) {
    let mut hashed = HashMap::new();
    let mut sorted = BTreeMap::new();
    for word in text.split_whitespace().map(|w| w.to_lowercase()) {
        *hashed.entry(word.clone()).or_insert(0) += 1;
        *sorted.entry(word).or_default() += 1usize;
    }
    (hashed, sorted)
}

fn main() {
    let text: String = std::env::args().collect::<Vec<_>>().join(" ");
    let (hashed, sorted) = count(&text);
    let mut shapes: Vec<Box<dyn Shape>> = vec![Box::new(Box2(2, 3)), Box::new(Box2(1.5, 2.0))];
    shapes.sort_by(|a, b| a.area().partial_cmp(&b.area()).unwrap());
    let mut out = String::new();
    for (word, n) in &sorted {
        writeln!(out, "{word} {n} {}", hashed[word]).unwrap();
    }
    let total: f64 = shapes.iter().map(|s| s.area()).sum();
    println!("{out}{total}");
}
