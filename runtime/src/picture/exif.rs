//! EXIF. In: the tags of a file, a TIFF structure. Out: the orientation they tell, 1 to 8. Promise: what does not read tells nothing.

/// The tag of the orientation, and the type of its value (16 bits).
const ORIENTATION: u16 = 0x112;
const SHORT: u16 = 3;

/// Orientation by the first directory.
pub fn orientation(tags: &[u8]) -> Option<u8> {
    let tags = tags.strip_prefix(b"Exif\0\0").unwrap_or(tags);
    let big = match tags.get(..4)? {
        b"II*\0" => false,
        b"MM\0*" => true,
        _ => return None,
    };
    let bytes = |at: usize, n: usize| tags.get(at..at.checked_add(n)?);
    let short = |at: usize| {
        let pair = bytes(at, 2)?.try_into().ok()?;
        Some(if big { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) })
    };
    let four: [u8; 4] = bytes(4, 4)?.try_into().ok()?;
    let start = if big { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) } as usize;
    let entries = usize::from(short(start)?);
    let mut places = (0..entries).map_while(|i| start.checked_add(2 + 12 * i));
    let entry = places.find(|&at| short(at) == Some(ORIENTATION) && short(at + 2) == Some(SHORT))?;
    let value = short(entry + 8)?;
    u8::try_from(value).ok().filter(|v| (1..=8).contains(v))
}

/// The tags of a PNG file.
pub fn of_png(bytes: &[u8]) -> Option<&[u8]> {
    let mut at = 8usize;
    loop {
        let header = bytes.get(at..at.checked_add(8)?)?;
        let length = u32::from_be_bytes(header.get(..4)?.try_into().ok()?) as usize;
        let data = at + 8;
        if &header[4..] == b"eXIf" {
            return bytes.get(data..data.checked_add(length)?);
        }
        at = data.checked_add(length)?.checked_add(4)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LITTLE: &[u8] = b"II*\0\x08\0\0\0\x02\0\x0f\x01\x02\0\x01\0\0\0\0\0\0\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0";
    const BIG: &[u8] = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x03\0\0";

    #[test]
    fn both_byte_orders_read() {
        assert_eq!((orientation(LITTLE), orientation(BIG)), (Some(6), Some(3)));
    }

    #[test]
    fn what_is_cut_or_out_of_range_tells_nothing() {
        for n in 0..LITTLE.len() - 3 {
            assert_eq!(orientation(&LITTLE[..n]), None, "{n} bytes");
        }
        let with = |at: usize, value: u8| {
            let mut bytes = LITTLE.to_vec();
            bytes[at] = value;
            orientation(&bytes)
        };
        assert_eq!((with(30, 9), with(7, 255), with(0, b'X')), (None, None, None));
    }
}
