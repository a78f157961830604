//! Numbers of bytes on the command line. In: text. Out: a number. Promise: what cannot be read says how to write it.

use std::str::FromStr;

/// A number of bytes as people write it: `0`, `1073741824`, `512M`, `6G`, `1.5G`. K, M, G and T are powers of 1,024.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bytes(pub u64);

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Bytes, String> {
        let bad = || format!("'{text}' is no number of bytes; write 0, 512M or 6G");
        let trimmed = text.trim().trim_end_matches(['B', 'b']).trim_end_matches('i');
        let (digits, shift) = match trimmed.char_indices().last() {
            Some((at, unit)) if unit.is_ascii_alphabetic() => {
                let shift = match unit.to_ascii_uppercase() {
                    'K' => 10,
                    'M' => 20,
                    'G' => 30,
                    'T' => 40,
                    _ => return Err(bad()),
                };
                (&trimmed[..at], shift)
            }
            _ => (trimmed, 0),
        };
        if let Ok(whole) = digits.parse::<u64>() {
            let bytes = whole.checked_mul(1 << shift);
            return bytes.map(Bytes).ok_or_else(|| format!("'{text}' is more than 64 bits hold"));
        }
        let plain = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        match digits.parse::<f64>() {
            Ok(part) if plain && shift > 0 && part < 1e6 => Ok(Bytes((part * (1u64 << shift) as f64) as u64)),
            _ => Err(bad()),
        }
    }
}
