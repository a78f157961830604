use super::*;
use crate::cost::tests::toy;
use crate::program::{Arg, Block, Dispatch, Phase, Tensor};
use proptest::prelude::*;

/// A card with memory of its own and a queue for copies.
fn card() -> Limits {
    Limits { max_buffer_bytes: 1 << 40, copies_aside: true, ..Limits::default() }
}

fn wish(budget: u64, offload: Offload) -> Wish {
    Wish { budget: Some(budget), offload, away: None }
}

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
        bucket.blocks.to_mut()[2].dispatches.to_mut()[0].args.to_mut()[0] = Arg::Weight(2);
    }
    assert_eq!(Uses::new(&program).order(), [1, 2, 0]);
    assert_eq!(Uses::new(&toy()).order(), [1, 2, 0]);
}

#[test]
fn without_a_budget_everything_is_resident() {
    let all = Residency::plan(&toy(), Wish::default(), &Limits::default()).unwrap();
    assert_eq!(all, Residency::resident(&toy()));
    assert_eq!(all.standing(&toy()), Standing { resident_bytes: 1128, ..Standing::default() });
    assert_eq!((all.ring_bytes(), all.moves(&toy(), &toy().buckets[1], Part::Whole)), (0, Moves::default()));
}

#[test]
fn what_the_layers_use_is_streamed_and_the_head_read_in_place_where_a_card_may_choose() {
    use Home::{Mapped, Streamed};
    let homes = |limits: &Limits, offload| Residency::plan(&toy(), wish(0, offload), limits).unwrap().homes;
    assert_eq!(homes(&card(), Offload::Auto), [Mapped, Streamed, Streamed]);
    assert_eq!(homes(&card(), Offload::Stream), [Streamed; 3]);
    assert_eq!(homes(&card(), Offload::Read), [Mapped; 3]);
    let slow = [Limits { copies_aside: false, ..card() }, Limits { unified: true, ..card() }];
    assert!(slow.iter().all(|limits| homes(limits, Offload::Auto) == [Mapped; 3]));
}

#[test]
fn a_step_moves_what_is_not_resident_and_of_a_table_the_rows_it_looks_up() {
    let moves = |budget, offload, bucket: usize| {
        let plan = Residency::plan(&toy(), wish(budget, offload), &card()).unwrap();
        plan.moves(&toy(), &toy().buckets[bucket], Part::Whole)
    };
    let (matrices, table, row) = (2 * 64, 1000, 100);
    let distinct = |budget, offload| {
        let program = toy();
        let residency = Residency::plan(&program, wish(budget, offload), &card()).unwrap();
        residency.distinct_bytes(&Uses::new(&program).run(&program.buckets[1], Part::Whole))
    };
    // The table's row is one of those that the head reads.
    assert_eq!((distinct(0, Offload::Read), distinct(0, Offload::Stream)), (table + matrices, table + matrices));
    assert_eq!(distinct(u64::MAX, Offload::Read), 0);
    let in_place = |in_place_bytes| Moves { in_place_bytes, copied_bytes: 0 };
    assert_eq!(moves(0, Offload::Read, 1), in_place(matrices + table + row));
    assert_eq!(moves(0, Offload::Read, 0), in_place(matrices + table + 8 * row));
    assert_eq!(moves(512, Offload::Read, 1), in_place(table + row));
    let streamed = Moves { in_place_bytes: row, copied_bytes: matrices + table };
    assert_eq!(moves(0, Offload::Stream, 1), streamed);
    assert_eq!(moves(0, Offload::Auto, 1), Moves { in_place_bytes: table + row, copied_bytes: matrices });
    assert_eq!(moves(1 << 20, Offload::Auto, 1), Moves::default());
}

#[test]
fn dispatches_that_take_nothing_from_the_ring_wait_for_nothing_and_hold_no_slot() {
    let sets = [vec![], vec![0], vec![0, 1], vec![], vec![2], vec![]];
    let stages = cut(&sets, 600, &|_| 300);
    let stage = |dispatches, slot, load: &[(usize, u64)]| Stage { dispatches, slot, load: load.to_vec() };
    let want =
        [stage(0..1, 0, &[]), stage(1..4, 0, &[(0, 0), (1, 300)]), stage(4..5, 1, &[(2, 0)]), stage(5..6, 0, &[])];
    assert_eq!(stages, want);
    assert_eq!(cut(&[vec![], vec![]], 0, &|_| 1), [stage(0..2, 0, &[])]);
    assert_eq!(cut(&[], 0, &|_| 1), []);
}

/// A program whose dispatches take weights of these sizes, some as lookups, in two buckets of which the second is the decode step.
fn program(sizes: &[u64], uses: &[(Vec<usize>, bool)]) -> Program {
    let mut program = toy();
    let tensor = |(i, &bytes): (usize, &u64)| Tensor {
        name: format!("w{i}").into(),
        layout: "rows_f32".into(),
        shape: vec![4].into(),
        bytes,
    };
    program.tensors = sizes.iter().enumerate().map(tensor).collect::<Vec<_>>().into();
    let dispatch = |(weights, lookup): &(Vec<usize>, bool)| Dispatch {
        kernel: u32::from(!lookup),
        grid: [1; 3],
        args: weights.iter().map(|w| Arg::Weight((w % sizes.len()) as u32)).collect::<Vec<_>>().into(),
        barrier: true,
        note: "".into(),
    };
    let all: Vec<Dispatch> = uses.iter().map(dispatch).collect();
    for (bucket, half) in program.buckets.to_mut().iter_mut().zip([&all[..all.len() / 2], &all[..]]) {
        let block = |phase, dispatches: &[Dispatch]| Block {
            phase,
            table: vec![vec![].into()].into(),
            dispatches: dispatches.to_vec().into(),
        };
        let (body, head) = half.split_at(half.len() * 3 / 4);
        bucket.blocks = vec![block(Phase::Body, body), block(Phase::Head, head)].into();
    }
    program
}

proptest! {
    #[test]
    fn any_program_keeps_to_its_budget_and_finds_every_weight(
        sizes in prop::collection::vec(0u64..3000, 1..24),
        uses in prop::collection::vec((prop::collection::vec(0usize..24, 0..4), prop::bool::weighted(0.2)), 0..40),
        budget in 0u64..30_000,
        offload in prop::sample::select(vec![Offload::Auto, Offload::Read, Offload::Stream]),
    ) {
        let program = program(&sizes, &uses);
        let plan = Residency::plan(&program, wish(budget, offload), &card()).unwrap();
        // Homes add up, and the budget holds.
        let Standing { resident_bytes, mapped_bytes, streamed_bytes } = plan.standing(&program);
        prop_assert_eq!(resident_bytes + mapped_bytes + streamed_bytes, sizes.iter().sum::<u64>());
        prop_assert!(resident_bytes <= budget);
        prop_assert_eq!(plan.over_budget_bytes(&program), 0);
        // In order of use: what stayed out had no room when its turn came.
        let order = Uses::new(&program).order();
        let mut sorted = order.clone();
        sorted.sort_unstable();
        prop_assert_eq!(sorted, (0..sizes.len()).collect::<Vec<_>>());
        let mut taken = 0;
        for t in order {
            let takes = device_bytes(sizes[t]);
            prop_assert_eq!(plan.homes[t] == Home::Resident, taken + takes <= budget);
            taken += if plan.homes[t] == Home::Resident { takes } else { 0 };
        }
        for (bucket, part) in runs(&program) {
            let run = Uses::new(&program).run(bucket, part);
            let stages = plan.stages(&program, &run);
            // Every dispatch once, in order; slots in turn.
            prop_assert_eq!(stages.iter().flat_map(|s| s.dispatches.clone()).collect::<Vec<_>>(), (0..run.len()).collect::<Vec<_>>());
            let loading: Vec<&Stage> = stages.iter().filter(|s| !s.load.is_empty()).collect();
            prop_assert!(loading.iter().enumerate().all(|(i, s)| s.slot == i % SLOTS));
            for stage in &stages {
                // What a stage loads lies apart in its slot, inside it.
                let mut end = 0;
                for &(t, at) in &stage.load {
                    prop_assert!(at >= end && at % ALIGN == 0);
                    end = at + sizes[t];
                }
                prop_assert!(end <= plan.slot_bytes);
                // Every streamed weight of its dispatches is there, and nothing else is.
                let used = || run[stage.dispatches.clone()].iter().flatten().filter(|u| plan.is_copied(u));
                prop_assert!(used().all(|u| stage.load.iter().any(|&(t, _)| t == u.tensor)));
                prop_assert!(stage.load.iter().all(|&(t, _)| used().any(|u| u.tensor == t)));
            }
            let moves = plan.moves(&program, bucket, part);
            prop_assert!(moves.copied_bytes == 0 || streamed_bytes > 0);
        }
        prop_assert!(offload != Offload::Read || (streamed_bytes == 0 && plan.ring_bytes() == 0));
    }
}
