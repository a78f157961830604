use super::*;
use crate::cost::tests::toy;

#[test]
fn budgets_are_read_as_people_write_them() {
    let read = |text: &str| text.parse::<Bytes>().map(|b| b.0);
    for (text, bytes) in [
        ("0", 0),
        ("1073741824", 1 << 30),
        ("512M", 512 << 20),
        ("6G", 6 << 30),
        ("6GiB", 6 << 30),
        ("1.5k", 1536),
        ("2GB", 2 << 30),
        ("7B", 7),
    ] {
        assert_eq!(read(text), Ok(bytes), "{text}");
    }
    for text in ["", "G", "six", "-1", "1.5", "6X", "1e3", "1e3G", "NaNG", "infG", "99999999999T", "6 G 1", "0x10"] {
        let error = read(text).unwrap_err();
        assert!(error.contains(&format!("'{text}'")), "{error}");
    }
}

#[test]
fn weights_come_in_order_of_use_and_what_is_only_looked_up_after_them() {
    let mut program = toy();
    // The head takes the second layer's matrix instead of the table, which is then looked up alone.
    for bucket in program.buckets.to_mut() {
        bucket.blocks.to_mut()[2].dispatches.to_mut()[0].args.to_mut()[0] = crate::program::Arg::Weight(2);
    }
    assert_eq!(Uses::new(&program).order(), [1, 2, 0]);
    assert_eq!(Uses::new(&toy()).order(), [1, 2, 0]);
}

#[test]
fn without_a_budget_everything_is_resident() {
    let all = Residency::plan(&toy(), None, Offload::Auto).unwrap();
    assert_eq!(all, Residency::resident(&toy()));
    assert_eq!(all.standing(&toy()), Standing { resident_bytes: 1128, ..Standing::default() });
}
