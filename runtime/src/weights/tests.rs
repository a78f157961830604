use super::*;
use crate::program::Tensor;
use std::fs;
use std::path::PathBuf;

fn program(tensors: &[(&'static str, &[u8])]) -> Program {
    let tensor = |(name, bytes): &(&'static str, &[u8])| Tensor {
        name: (*name).into(),
        layout: "rows_f16".into(),
        shape: vec![bytes.len() as u32 / 2].into(),
        bytes: bytes.len() as u64,
    };
    Program {
        name: "toy".into(),
        plan_hash: "abcd".into(),
        kernels: vec![].into(),
        variants: vec![].into(),
        tensors: tensors.iter().map(tensor).collect::<Vec<_>>().into(),
        states: vec![].into(),
        buckets: vec![].into(),
        decoder: None,
    }
}

const TENSORS: &[(&str, &[u8])] = &[("embed", b"0123456789"), ("norm", b""), ("head", b"abcdefgh")];

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn pool(&self) -> PathBuf {
        let path = self.0.path().join("toy.pool");
        let mut writer = PoolWriter::create(&path, &program(TENSORS), "graph toy {}\n").unwrap();
        for (_, bytes) in TENSORS {
            for piece in bytes.chunks(3) {
                writer.write(piece).unwrap();
            }
            // An empty section is nothing, also after the last tensor.
            writer.write(b"").unwrap();
        }
        assert_eq!(writer.finish().unwrap(), fs::metadata(&path).unwrap().len());
        path
    }
}

fn fails(result: Result<Pool>) -> String {
    let error = result.and_then(|p| p.fits(&program(TENSORS)).and_then(|()| p.verify(&mut |_, _| {}))).unwrap_err();
    assert_eq!(error.kind, Kind::Weights);
    error.to_string()
}

#[test]
fn a_pool_gives_back_what_was_written() {
    let folder = Folder::new();
    let pool = Pool::open(&folder.pool()).unwrap();
    pool.fits(&program(TENSORS)).unwrap();
    let mut last = (0, 0);
    pool.verify(&mut |done, total| last = (done, total)).unwrap();
    assert_eq!(last, (18, 18));
    let back: Vec<&[u8]> = (0..3).map(|i| pool.bytes(i)).collect();
    assert_eq!(back, [&b"0123456789"[..], b"", b"abcdefgh"]);
    assert_eq!(pool.graph(), "graph toy {}\n");
    assert_eq!(pool.index().tensors[2].hash64, format!("{:016x}", hash::hash64(b"abcdefgh")));
    assert_eq!(pool.bytes(0).as_ptr() as usize % 256, 0);
}

#[test]
fn two_packs_are_byte_identical() {
    let (a, b) = (Folder::new(), Folder::new());
    assert_eq!(fs::read(a.pool()).unwrap(), fs::read(b.pool()).unwrap());
}

#[test]
fn an_altered_byte_is_refused_with_the_tensors_name() {
    let folder = Folder::new();
    let path = folder.pool();
    let good = fs::read(&path).unwrap();
    let at = good.windows(8).position(|w| w == b"abcdefgh").unwrap();
    let mut bad = good.clone();
    bad[at] ^= 1;
    fs::write(&path, &bad).unwrap();
    assert!(fails(Pool::open(&path)).contains("tensor 'head' was altered"));
}

#[test]
fn a_pools_hashes_are_those_of_the_packing_and_other_sources_are_hashed_as_they_are_made() {
    let folder = Folder::new();
    let path = folder.pool();
    let packed: Vec<u64> = TENSORS.iter().map(|(_, bytes)| hash::hash64(bytes)).collect();
    let good = fs::read(&path).unwrap();
    let at = good.windows(8).position(|w| w == b"abcdefgh").unwrap();
    let mut bad = good.clone();
    bad[at] ^= 1;
    fs::write(&path, &bad).unwrap();
    let altered = WeightSource::Pool(Box::new(Pool::open(&path).unwrap()));
    assert_eq!(altered.hashes(&program(TENSORS)).unwrap(), packed);
    let bytes = WeightSource::Bytes(TENSORS.iter().map(|(_, bytes)| bytes.to_vec()).collect());
    assert_eq!(bytes.hashes(&program(TENSORS)).unwrap(), packed);
    let mut made = Vec::new();
    let source = WeightSource::Synthetic(5);
    for i in 0..3 {
        let mut hash = hash::Hash64::default();
        source
            .read(&program(TENSORS), i, &mut |piece| {
                hash.update(piece);
                Ok(())
            })
            .unwrap();
        made.push(hash.finish());
    }
    assert_eq!(source.hashes(&program(TENSORS)).unwrap(), made);
}

#[test]
fn a_pool_cut_anywhere_is_refused() {
    let folder = Folder::new();
    let path = folder.pool();
    let good = fs::read(&path).unwrap();
    for keep in [0, 1, 127, 128, 300, 4095, 4096, 4097, 4096 + 256, good.len() - 1] {
        fs::write(&path, &good[..keep]).unwrap();
        let error = fails(Pool::open(&path));
        assert!(error.starts_with("weights "), "{error}");
        if keep >= 4096 {
            let name = if keep < 4096 + 10 { "'embed'" } else { "'head'" };
            assert!(error.contains(name), "cut at {keep}: {error}");
        }
    }
}

#[test]
fn a_damaged_head_is_refused_at_every_byte() {
    let folder = Folder::new();
    let path = folder.pool();
    let good = fs::read(&path).unwrap();
    let graph = good.windows(9).position(|w| w == b"graph toy").unwrap();
    for at in (0..graph + 9).step_by(5) {
        let mut bad = good.clone();
        bad[at] ^= 0x40;
        fs::write(&path, &bad).unwrap();
        assert!(fails(Pool::open(&path)).contains("pool"), "byte {at}");
    }
}

#[test]
fn a_foreign_pool_is_refused_with_the_first_tensor_that_differs() {
    let folder = Folder::new();
    let pool = Pool::open(&folder.pool()).unwrap();
    let error = |p: &Program| pool.fits(p).unwrap_err().to_string();
    assert!(error(&program(&TENSORS[..2])).contains("tensor 'head' is not the program's"));
    let renamed = program(&[("embed", b"0123456789"), ("scale", b""), ("head", b"abcdefgh")]);
    assert!(error(&renamed).contains("'norm' rows_f16 [0]"), "{}", error(&renamed));
    let longer = program(&[TENSORS[0], TENSORS[1], TENSORS[2], ("bias", b"xx")]);
    assert!(error(&longer).contains("tensor 'bias' is missing"));
    let other = Program { plan_hash: "beef".into(), ..program(TENSORS) };
    assert!(error(&other).contains("packed for 'toy', plan abcd"), "{}", error(&other));
}

#[test]
fn other_content_of_the_same_plan_passes_only_when_it_is_asked_for() {
    let folder = Folder::new();
    let path = folder.0.path().join("toy.pool");
    let hashed = |hash: &'static str| Program { plan_hash: hash.into(), ..program(TENSORS) };
    let mut writer = PoolWriter::create(&path, &hashed("0123456789abcdef-one"), "").unwrap();
    TENSORS.iter().for_each(|(_, bytes)| writer.write(bytes).unwrap());
    writer.finish().unwrap();
    let other = hashed("0123456789abcdef-two");
    assert!(Pool::open(&path).unwrap().fits(&other).is_err());
    let meant = Pool::open(&path).unwrap().with_other_content();
    meant.fits(&other).unwrap();
    assert!(meant.fits(&hashed("0123456789abcdee-one")).is_err());
}

#[test]
fn random_bytes_and_other_files_are_no_pools() {
    let folder = Folder::new();
    let path = folder.0.path().join("x");
    fs::write(&path, vec![0x5a; 5000]).unwrap();
    assert!(fails(Pool::open(&path)).contains("not a weight pool"));
    assert!(fails(Pool::open(&folder.0.path().join("absent"))).contains("absent"));
    assert!(fails(Pool::open(folder.0.path())).starts_with("weights "));
}

#[test]
fn an_unfinished_pool_leaves_no_file() {
    let folder = Folder::new();
    let path = folder.0.path().join("toy.pool");
    let mut writer = PoolWriter::create(&path, &program(TENSORS), "").unwrap();
    writer.write(b"0123").unwrap();
    assert!(writer.write(b"4567890").unwrap_err().to_string().contains("tensor 'embed' takes 10 bytes, 11 given"));
    assert!(writer.finish().unwrap_err().to_string().contains("'embed' has 4 of its 10 bytes"));
    assert_eq!(fs::read_dir(folder.0.path()).unwrap().count(), 0);
}

#[test]
fn a_pool_appended_to_an_executable_is_found_and_replaced() {
    let folder = Folder::new();
    let pool = folder.pool();
    let exe = folder.0.path().join("program");
    fs::write(&exe, b"\x7fELF and so on").unwrap();
    append(&exe, &pool).unwrap();
    let once = fs::read(&exe).unwrap();
    append(&exe, &pool).unwrap();
    assert_eq!(fs::read(&exe).unwrap(), once);
    assert_eq!(once.len() as u64, IMAGE_ALIGN + fs::metadata(&pool).unwrap().len() + 80);
    let found = Pool::open(&exe).unwrap();
    found.fits(&program(TENSORS)).unwrap();
    found.verify(&mut |_, _| {}).unwrap();
    assert_eq!(found.bytes(2), b"abcdefgh");

    let mut cut = once.clone();
    cut.drain(IMAGE_ALIGN as usize..IMAGE_ALIGN as usize + 16);
    fs::write(&exe, &cut).unwrap();
    assert!(fails(Pool::open(&exe)).contains("cut or its trailer damaged"));
}

#[test]
fn the_weights_flag_is_a_seed_or_a_file() {
    assert!(matches!(WeightSource::find(Some("synthetic:12")), Ok(WeightSource::Synthetic(12))));
    assert_eq!(WeightSource::find(Some("synthetic:x")).err().unwrap().kind, Kind::Usage);
    assert_eq!(WeightSource::find(Some("/no/such/file")).err().unwrap().kind, Kind::Weights);
    assert!(WeightSource::find(None).err().unwrap().to_string().contains("no weights"));
}
