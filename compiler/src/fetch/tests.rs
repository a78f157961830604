//! Downloads from a server in this process.

use super::*;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;

const NAME: &str = "onnx/model.onnx";

/// What the server does with one request.
#[derive(Default, Clone)]
struct Reply {
    status: &'static str,
    headers: Vec<String>,
    body: Vec<u8>,
    /// The connection ends after so many bytes of the body.
    cut: Option<usize>,
    /// Nothing is sent, and the connection stays open for a while.
    mute: bool,
}

/// A server, and the requests that it has had.
struct Server {
    url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// `reply` gets the number of the request and its text.
    fn start(reply: impl Fn(usize, &str) -> Reply + Send + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/export/model.onnx", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(vec![]));
        let seen = requests.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                let mut lines = BufReader::new(&stream).lines().map_while(|l| l.ok());
                let text: Vec<String> = lines.by_ref().take_while(|l| !l.is_empty()).collect();
                let text = text.join("\n");
                let number = seen.lock().unwrap().len();
                seen.lock().unwrap().push(text.clone());
                answer(stream, reply(number, &text));
            }
        });
        Server { url, requests }
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn answer(mut stream: TcpStream, reply: Reply) {
    if reply.mute {
        std::thread::sleep(Duration::from_millis(800));
        return;
    }
    let mut head =
        format!("HTTP/1.1 {}\r\nConnection: close\r\nContent-Length: {}\r\n", reply.status, reply.body.len());
    reply.headers.iter().for_each(|h| head += &format!("{h}\r\n"));
    let body = &reply.body[..reply.cut.unwrap_or(reply.body.len())];
    // A client that has gone away is the client's business.
    let _ = stream.write_all(format!("{head}\r\n").as_bytes()).and_then(|()| stream.write_all(body));
}

/// The whole file, or the range that is asked for, as a server with an ETag gives it.
fn file(bytes: &[u8], tag: &str, request: &str) -> Reply {
    let etag = format!("ETag: \"{tag}\"");
    let value = |name: &str| {
        request.lines().find_map(|l| l.to_lowercase().strip_prefix(&format!("{name}: ")).map(str::to_string))
    };
    let first = value("range").and_then(|r| r.strip_prefix("bytes=")?.strip_suffix('-')?.parse::<usize>().ok());
    match first {
        Some(first) if value("if-range").is_none_or(|t| t == format!("\"{tag}\"")) => Reply {
            status: "206 Partial Content",
            headers: vec![etag, format!("Content-Range: bytes {first}-{}/{}", bytes.len() - 1, bytes.len())],
            body: bytes[first..].to_vec(),
            ..Reply::default()
        },
        _ => Reply { status: "200 OK", headers: vec![etag], body: bytes.to_vec(), ..Reply::default() },
    }
}

fn bytes(seed: u32) -> Vec<u8> {
    (0..300_000u32).map(|i| (i.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 11) as u8).collect()
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

/// A cache folder and what is to be in it.
struct Setup {
    dir: TempDir,
    manifest: Manifest,
}

impl Setup {
    fn new(url: &str, sha256: Option<String>) -> Setup {
        let text = "title = \"\"\nsource = \"\"\nlicence = \"\"\nprecision = \"fp16\"\n[graphs]\ng = \"model.onnx\"\n[[buckets]]\nname = \"run\"\ngraph = \"g\"\n";
        let mut manifest = Manifest::parse(text, "m").unwrap();
        manifest.sources = BTreeMap::from([(NAME.to_string(), Source { url: url.into(), sha256 })]);
        Setup { dir: tempfile::tempdir().unwrap(), manifest }
    }

    fn place(&self) -> Place {
        Place::of(self.dir.path(), &self.manifest)
    }

    fn path(&self) -> PathBuf {
        self.place().folder.join(NAME)
    }

    /// Fetches; the events as text.
    fn fetch(&self) -> Result<Vec<String>> {
        let ms = Duration::from_millis;
        let patience = Patience { connect: ms(500), silence: ms(400), tries: 3, pause: ms(1) };
        let mut events = vec![];
        fetch(&self.manifest, &self.place(), &patience, &mut |e| events.push(format!("{e:?}")))?;
        Ok(events)
    }

    /// The error as one line, without the folder of this run.
    fn error(&self) -> String {
        let text = self.fetch().unwrap_err().to_string().replace(&format!("{}/", self.dir.path().display()), "");
        assert!(!text.contains('\n'), "{text}");
        text
    }

    fn record(&self) -> String {
        fs::read_to_string(self.place().record).unwrap()
    }

    fn parts(&self) -> usize {
        let folder = self.path().parent().unwrap().to_path_buf();
        fs::read_dir(folder).map_or(0, |d| d.filter(|e| e.as_ref().is_ok_and(|e| e.path() != self.path())).count())
    }
}

#[test]
fn a_file_comes_whole_and_is_not_asked_for_again() {
    let server = Server::start(|_, request| file(&bytes(1), "a", request));
    let setup = Setup::new(&server.url, None);
    let events = setup.fetch().unwrap();
    assert!(events.last().unwrap().contains("verified: false"), "{events:?}");
    assert_eq!(fs::read(setup.path()).unwrap(), bytes(1));
    assert_eq!(setup.parts(), 0, "nothing is left beside it");
    assert!(setup.record().contains(&hash(&bytes(1))) && setup.record().contains("verified = false"));
    assert!(setup.fetch().unwrap().is_empty());
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_hash_of_the_manifest_is_checked_and_recorded_as_verified() {
    let server = Server::start(|_, request| file(&bytes(1), "a", request));
    let setup = Setup::new(&server.url, Some(hash(&bytes(1))));
    setup.fetch().unwrap();
    assert!(setup.record().contains("verified = true"), "{}", setup.record());
}

#[test]
fn a_wrong_hash_is_one_line_and_the_file_is_put_aside() {
    let server = Server::start(|_, request| file(&bytes(1), "a", request));
    let setup = Setup::new(&server.url, Some(hash(&bytes(2))));
    let text = setup.error();
    let expect = format!(
        "has sha256 {}, and the manifest says {}; it is now .cache/models/m/onnx/model.onnx.wrong",
        hash(&bytes(1)),
        hash(&bytes(2))
    );
    assert!(text.contains(&expect), "{text}");
    assert!(!setup.path().exists());
    assert!(!setup.place().record.exists(), "what is wrong is not recorded");
}

#[test]
fn a_cut_connection_goes_on_where_it_stopped() {
    let server = Server::start(|n, request| {
        let cut = [Some(100_000), Some(50_000)].get(n).copied().flatten();
        Reply { cut, ..file(&bytes(1), "a", request) }
    });
    let setup = Setup::new(&server.url, None);
    let events = setup.fetch().unwrap();
    assert_eq!(fs::read(setup.path()).unwrap(), bytes(1));
    let requests = server.requests();
    assert!(requests[1].contains("bytes=100000-") && requests[2].contains("bytes=150000-"), "{requests:?}");
    assert!(requests[1].to_lowercase().contains("if-range: \"a\""), "{requests:?}");
    assert_eq!(events.iter().filter(|e| e.starts_with("Again")).count(), 2, "{events:?}");
}

#[test]
fn a_later_run_goes_on_where_an_earlier_one_gave_up() {
    // Three tries that bring nothing follow 100,000 bytes.
    let server = Server::start(|n, request| match n {
        0 => Reply { cut: Some(100_000), ..file(&bytes(1), "a", request) },
        1..=3 => Reply { status: "503 Service Unavailable", ..Reply::default() },
        _ => file(&bytes(1), "a", request),
    });
    let setup = Setup::new(&server.url, None);
    let text = setup.error();
    assert!(text.contains("the server says 503"), "{text}");
    assert!(setup.parts() > 0 && !setup.path().exists());
    let events = setup.fetch().unwrap();
    assert!(events[0].contains("here: 100000"), "{events:?}");
    assert_eq!(fs::read(setup.path()).unwrap(), bytes(1));
    assert_eq!(setup.parts(), 0);
}

#[test]
fn a_server_without_ranges_sends_the_file_anew() {
    let server = Server::start(|n, _| {
        let whole = Reply { status: "200 OK", body: bytes(1), headers: vec!["ETag: \"a\"".into()], ..Reply::default() };
        Reply { cut: (n == 0).then_some(100_000), ..whole }
    });
    let setup = Setup::new(&server.url, None);
    setup.fetch().unwrap();
    assert_eq!(fs::read(setup.path()).unwrap(), bytes(1));
}

#[test]
fn without_an_etag_or_a_date_only_a_known_hash_lets_a_part_go_on() {
    let reply = |n: usize, request: &str| {
        let mut reply = Reply { cut: (n == 0).then_some(100_000), ..file(&bytes(1), "a", request) };
        reply.headers.retain(|h| !h.starts_with("ETag"));
        reply
    };
    for (sha256, range) in [(None, false), (Some(hash(&bytes(1))), true)] {
        let server = Server::start(reply);
        let setup = Setup::new(&server.url, sha256);
        setup.fetch().unwrap();
        assert_eq!(fs::read(setup.path()).unwrap(), bytes(1));
        assert_eq!(server.requests()[1].contains("bytes=100000-"), range);
    }
}

#[test]
fn a_file_that_changed_between_parts_is_fetched_anew() {
    let server = Server::start(|n, request| match n {
        0 => Reply { cut: Some(100_000), ..file(&bytes(1), "a", request) },
        _ => file(&bytes(2), "b", request),
    });
    let setup = Setup::new(&server.url, None);
    setup.fetch().unwrap();
    assert_eq!(fs::read(setup.path()).unwrap(), bytes(2), "no mixture of both");
}

#[test]
fn a_range_of_a_file_of_another_length_is_not_joined() {
    // This server does not know If-Range.
    let server = Server::start(|n, request| {
        let deaf = request.lines().filter(|l| !l.to_lowercase().starts_with("if-range")).collect::<Vec<_>>().join("\n");
        match n {
            0 => Reply { cut: Some(100_000), ..file(&bytes(1), "a", &deaf) },
            _ => file(&bytes(2)[..200_000], "b", &deaf),
        }
    });
    let setup = Setup::new(&server.url, None);
    setup.fetch().unwrap();
    assert_eq!(fs::read(setup.path()).unwrap(), bytes(2)[..200_000]);
}

#[test]
fn a_changed_file_is_held_against_the_first_download() {
    let server =
        Server::start(|n, request| if n == 0 { file(&bytes(1), "a", request) } else { file(&bytes(2), "b", request) });
    let setup = Setup::new(&server.url, None);
    setup.fetch().unwrap();
    fs::remove_dir_all(setup.place().folder).unwrap();
    let text = setup.error();
    assert!(text.contains(".cache/models/m.sources.lock recorded") && text.contains("delete its row"), "{text}");
    assert!(!setup.path().exists());
    // The user believes it: the row goes, and the file comes back.
    fs::remove_file(setup.place().record).unwrap();
    setup.fetch().unwrap();
    assert_eq!(fs::read(setup.path()).unwrap(), bytes(2));
}

#[test]
fn a_file_that_is_not_there_says_so_and_what_to_put_where() {
    let server = Server::start(|_, _| Reply { status: "404 Not Found", ..Reply::default() });
    let text = Setup::new(&server.url, None).error();
    assert!(text.contains("the server says 404 Not Found for http://127.0.0.1:"), "{text}");
    assert!(text.ends_with("put onnx/model.onnx into .cache/models/m, or give onnx=FOLDER with these files"), "{text}");
    assert_eq!(server.requests().len(), 1, "asking again would not help");
}

#[test]
fn redirects_are_followed_with_the_range() {
    let server = Server::start(|n, request| {
        if request.starts_with("GET /export/") {
            let headers = vec!["Location: /elsewhere".into()];
            return Reply { status: "302 Found", headers, ..Reply::default() };
        }
        Reply { cut: (n < 2).then_some(100_000), ..file(&bytes(1), "a", request) }
    });
    let setup = Setup::new(&server.url, None);
    setup.fetch().unwrap();
    assert_eq!(fs::read(setup.path()).unwrap(), bytes(1));
    let last = server.requests().pop().unwrap();
    assert!(last.starts_with("GET /elsewhere") && last.contains("bytes=100000-"), "{last}");
}

#[test]
fn endless_redirects_end() {
    let server = Server::start(|_, _| {
        let headers = vec!["Location: /export/model.onnx".into()];
        Reply { status: "302 Found", headers, ..Reply::default() }
    });
    assert!(Setup::new(&server.url, None).error().contains("redirect"));
}

#[test]
fn a_silent_server_is_given_up() {
    let server = Server::start(|_, _| Reply { mute: true, ..Reply::default() });
    let text = Setup::new(&server.url, None).error();
    assert!(text.contains("cannot reach 127.0.0.1"), "{text}");
}

#[test]
fn offline_is_told_at_once_with_what_is_missing() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut setup = Setup::new(&format!("http://{free}/model.onnx"), None);
    let tokenizer = Source { url: format!("http://{free}/tokenizer.json"), sha256: None };
    setup.manifest.sources.insert("tokenizer.json".into(), tokenizer);
    let text = setup.error();
    assert!(text.contains(&format!("cannot reach {free}")), "{text}");
    assert!(text.contains("put onnx/model.onnx, tokenizer.json into .cache/models/m, or give onnx=FOLDER"), "{text}");
}

#[test]
fn files_that_were_put_there_by_hand_need_no_network() {
    let mut setup = Setup::new("http://127.0.0.1:1/model.onnx", None);
    fs::create_dir_all(setup.path().parent().unwrap()).unwrap();
    fs::write(setup.path(), bytes(1)).unwrap();
    setup.fetch().unwrap();
    assert!(setup.record().contains(&hash(&bytes(1))));
    setup.fetch().unwrap();
    // Somebody vouches for another hash: the file is checked again.
    setup.manifest.sources.get_mut(NAME).unwrap().sha256 = Some(hash(&bytes(2)));
    assert!(setup.error().contains("the manifest says"));
}

#[test]
fn two_downloads_of_one_file_do_not_mix() {
    let setup = Setup::new("http://127.0.0.1:1/model.onnx", None);
    let _held = part::Part::open(&setup.path()).unwrap();
    assert!(setup.error().contains("another download of it is under way"));
}

#[test]
fn a_folder_that_cannot_be_made_is_one_line() {
    let setup = Setup::new("http://127.0.0.1:1/model.onnx", None);
    fs::write(setup.dir.path().join(".cache"), "in the way").unwrap();
    assert!(setup.error().contains(".cache"));
}
