//! Equal layers. In: the rows of a bucket. Out: blocks, each a body and a table of what differs. Promise: expanding the blocks
//! gives the rows back, save that a barrier one repetition needs stands in all.

use onnxcast_runtime::program::{Arg, Block, Dispatch, Phase};
use std::collections::HashMap;

/// A row whose arguments have addresses.
#[derive(Clone, PartialEq, Debug)]
pub struct Flat {
    pub dispatch: Dispatch,
    pub phase: Phase,
}

/// Longest body that is looked for.
const LONGEST: usize = 256;

/// Rows a block must save before a table is easier to read than the rows themselves.
const WORTH: usize = 4;

/// Rolls rows into blocks, taking at each place the repetition that saves most rows.
pub fn roll(rows: &[Flat]) -> Vec<Block> {
    let keys = keys(rows);
    let mut blocks: Vec<Block> = vec![];
    let mut at = 0;
    while at < rows.len() {
        let (period, count) = best(&keys[at..]);
        if period * (count - 1) < WORTH {
            single(&mut blocks, &rows[at]);
            at += 1;
            continue;
        }
        // Where a body may begin at several rows, it does where least differs.
        let starts = (at..at + period).take_while(|&start| repeats(&keys[start..], period) >= count);
        let block = |start: usize| fold(&rows[start..start + period * count], period);
        let columns = |b: &Block| b.table[0].len();
        let Some((start, block)) = starts.map(|s| (s, block(s))).min_by_key(|(_, b)| columns(b)) else { break };
        rows[at..start].iter().for_each(|row| single(&mut blocks, row));
        blocks.push(block);
        at = start + period * count;
    }
    blocks
}

/// Adds a row that does not repeat.
fn single(blocks: &mut Vec<Block>, row: &Flat) {
    match blocks.last_mut() {
        Some(b) if b.phase == row.phase && b.table.len() == 1 => b.dispatches.to_mut().push(row.dispatch.clone()),
        _ => blocks.push(Block {
            phase: row.phase,
            table: vec![vec![].into()].into(),
            dispatches: vec![row.dispatch.clone()].into(),
        }),
    }
}

/// How often the first `period` keys stand there in a row.
fn repeats(keys: &[usize], period: usize) -> usize {
    if keys.len() < period {
        return 0;
    }
    keys.iter().zip(&keys[period..]).take_while(|(a, b)| a == b).count() / period + 1
}

/// A number per row; equal for rows that one dispatch of a body can stand for.
fn keys(rows: &[Flat]) -> Vec<usize> {
    let mut seen = HashMap::new();
    rows.iter()
        .map(|r| {
            let next = seen.len();
            *seen.entry((r.dispatch.kernel, r.dispatch.grid, r.dispatch.args.len(), r.phase)).or_insert(next)
        })
        .collect()
}

/// The period and count of the repetition at the start of `keys` that saves most rows; the shortest period among equals.
fn best(keys: &[usize]) -> (usize, usize) {
    let mut best = (1, 1);
    for period in 1..=LONGEST.min(keys.len() / 2) {
        let count = repeats(keys, period);
        if period * (count - 1) > best.0 * (best.1 - 1) {
            best = (period, count);
        }
    }
    best
}

/// One body for `rows.len() / period` repetitions.
fn fold(rows: &[Flat], period: usize) -> Block {
    let layers: Vec<&[Flat]> = rows.chunks_exact(period).collect();
    let mut columns: Vec<Vec<Arg>> = vec![];
    let dispatches: Vec<Dispatch> = (0..period)
        .map(|i| {
            let first = &layers[0][i].dispatch;
            let args: Vec<Arg> = (0..first.args.len())
                .map(|a| {
                    let column: Vec<Arg> = layers.iter().map(|l| l[i].dispatch.args[a]).collect();
                    if column.iter().all(|&v| v == column[0]) {
                        return column[0];
                    }
                    let known = columns.iter().position(|c| *c == column);
                    Arg::Column(known.unwrap_or_else(|| {
                        columns.push(column);
                        columns.len() - 1
                    }) as u32)
                })
                .collect();
            let notes: Vec<&str> = layers.iter().map(|l| l[i].dispatch.note.as_ref()).collect();
            Dispatch {
                kernel: first.kernel,
                grid: first.grid,
                args: args.into(),
                barrier: layers.iter().any(|l| l[i].dispatch.barrier),
                note: template(&notes).into(),
            }
        })
        .collect();
    let table: Vec<_> = (0..layers.len()).map(|l| columns.iter().map(|c| c[l]).collect()).collect();
    Block { phase: rows[0].phase, table: table.into(), dispatches: dispatches.into() }
}

/// A note for all repetitions: numbers that count with them become `{l}` (`{l+5}` where they start at 5).
fn template(notes: &[&str]) -> String {
    let split: Vec<Vec<&str>> = notes.iter().map(|n| pieces(n)).collect();
    let first = &split[0];
    let mut out = String::new();
    for (i, piece) in first.iter().enumerate() {
        let counts = piece.parse::<usize>().is_ok_and(|start| {
            split.iter().enumerate().all(|(l, s)| s.get(i).is_some_and(|p| p.parse() == Ok(start + l)))
        });
        match piece.parse::<usize>() {
            Ok(0) if counts => out += "{l}",
            Ok(start) if counts => out += &format!("{{l+{start}}}"),
            _ => out += piece,
        }
    }
    out
}

/// Digits and the text between them.
fn pieces(note: &str) -> Vec<&str> {
    let mut out = vec![];
    let mut start = 0;
    let bytes = note.as_bytes();
    for i in 1..=bytes.len() {
        if i == bytes.len() || bytes[i].is_ascii_digit() != bytes[i - 1].is_ascii_digit() {
            out.push(&note[start..i]);
            start = i;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(kernel: u32, args: &[Arg], note: &str) -> Flat {
        let dispatch =
            Dispatch { kernel, grid: [1; 3], args: args.to_vec().into(), barrier: true, note: note.to_string().into() };
        Flat { dispatch, phase: Phase::Body }
    }

    fn layers(n: u32) -> Vec<Flat> {
        let mut rows = vec![row(9, &[Arg::Tokens, Arg::Arena(0)], "embed")];
        for l in 0..n {
            rows.push(row(0, &[Arg::Arena(0), Arg::Weight(2 * l + 1), Arg::Arena(256)], &format!("layers.{l}.up")));
            rows.push(row(1, &[Arg::Arena(256), Arg::Weight(2 * l + 2), Arg::Arena(0)], &format!("layers.{l}.down")));
        }
        rows.push(row(8, &[Arg::Arena(0), Arg::Logits], "head"));
        rows
    }

    /// What the recorder will do.
    fn expand(blocks: &[Block]) -> Vec<(u32, Vec<Arg>)> {
        let mut out = vec![];
        for block in blocks {
            for columns in block.table.iter() {
                for d in block.dispatches.iter() {
                    let arg = |a: &Arg| if let Arg::Column(c) = a { columns[*c as usize] } else { *a };
                    out.push((d.kernel, d.args.iter().map(arg).collect()));
                }
            }
        }
        out
    }

    #[test]
    fn layers_become_one_body_and_a_table() {
        let blocks = roll(&layers(30));
        assert_eq!(
            blocks.iter().map(|b| (b.table.len(), b.dispatches.len())).collect::<Vec<_>>(),
            [(1, 1), (30, 2), (1, 1)]
        );
        let body = &blocks[1];
        assert_eq!(body.dispatches[0].note, "layers.{l}.up");
        assert_eq!(body.dispatches[0].args.as_ref(), [Arg::Arena(0), Arg::Column(0), Arg::Arena(256)]);
        assert_eq!(body.table[29].as_ref(), [Arg::Weight(59), Arg::Weight(60)]);
    }

    #[test]
    fn expanding_gives_the_rows_back() {
        let mut rows = layers(5);
        rows.extend(layers(3));
        rows[4].dispatch.grid = [2, 1, 1];
        let flat: Vec<_> = rows.iter().map(|r| (r.dispatch.kernel, r.dispatch.args.to_vec())).collect();
        assert_eq!(expand(&roll(&rows)), flat);
    }

    #[test]
    fn another_kernel_in_the_middle_makes_a_second_class() {
        let mut rows = layers(12);
        rows[1 + 2 * 6].dispatch.kernel = 7;
        let counts: Vec<usize> = roll(&rows).iter().map(|b| b.table.len()).collect();
        assert_eq!(counts, [1, 6, 1, 5, 1], "embed, six layers, the odd one, five layers, head");
    }

    #[test]
    fn a_body_begins_where_least_differs() {
        // The last row of a layer takes what the first of the next does, and the last layer ends otherwise.
        let mut rows = vec![];
        for l in 0..6 {
            rows.push(row(0, &[Arg::Weight(l)], &format!("layers.{l}.up")));
            rows.push(row(1, &[Arg::Arena(0)], &format!("layers.{l}.act")));
            rows.push(row(if l < 5 { 2 } else { 3 }, &[Arg::Weight(l + 1)], &format!("layers.{l}.down")));
        }
        let flat: Vec<_> = rows.iter().map(|r| (r.dispatch.kernel, r.dispatch.args.to_vec())).collect();
        let blocks = roll(&rows);
        assert_eq!(expand(&blocks), flat);
        let counts: Vec<_> = blocks.iter().map(|b| (b.table.len(), b.table[0].len(), b.dispatches.len())).collect();
        assert_eq!(counts, [(1, 0, 1), (5, 1, 3), (1, 0, 2)], "up; act, down, up five times; act, down");
        assert_eq!(blocks[1].dispatches[2].note, "layers.{l+1}.up");
    }

    #[test]
    fn a_barrier_that_one_layer_needs_stands_in_all() {
        let mut rows = layers(4);
        rows[1].dispatch.barrier = false;
        assert!(roll(&rows)[1].dispatches[0].barrier);
    }

    #[test]
    fn notes_count_from_where_they_start() {
        assert_eq!(template(&["a.5.k16", "a.6.k16"]), "a.{l+5}.k16");
        assert_eq!(template(&["a.0.b", "a.2.b"]), "a.0.b");
    }
}
