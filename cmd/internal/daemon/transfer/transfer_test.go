package transfer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/store"
)

const (
	bid = "bid0000000001"
	jid = "jid0000000002"
)

// server is one that sends a file, and breaks off after some bytes of each answer.
type server struct {
	*httptest.Server
	mu    sync.Mutex
	is    []byte
	tag   string
	cuts  []int // bytes of the body of each answer, -1 = all
	asked []int // where each began
	sent  int   // bytes of bodies
	lies  func(w http.ResponseWriter, from int) bool
}

func newServer(t *testing.T, is []byte, cuts ...int) *server {
	t.Helper()
	s := &server{is: is, tag: `"v1"`, cuts: cuts}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := 0
	if text, ok := strings.CutPrefix(r.Header.Get("Range"), "bytes="); ok && r.Header.Get("If-Range") == s.tag {
		from, _ = strconv.Atoi(strings.TrimSuffix(text, "-"))
	}
	s.asked = append(s.asked, from)
	if s.tag != "" {
		w.Header().Set("ETag", s.tag)
	}
	if s.lies != nil && s.lies(w, from) {
		return
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(s.is)-from))
	if from > 0 {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(s.is)-1, len(s.is)))
		w.WriteHeader(http.StatusPartialContent)
	}
	cut := -1
	if len(s.cuts) > 0 {
		cut, s.cuts = s.cuts[0], s.cuts[1:]
	}
	body := s.is[from:]
	if cut >= 0 {
		body = body[:cut]
	}
	n, _ := w.Write(body)
	s.sent += n
}

// requested returns where the answers began.
func (s *server) requested() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// total returns how many bytes of bodies were sent.
func (s *server) total() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent
}

// bench has what transfers need of this machine.
type bench struct {
	*testing.T
	work *store.Work
	t    Transfer
	n    int
}

func newBench(t *testing.T, s *server) *bench {
	t.Helper()
	work, err := store.OpenWork(t.TempDir(), "test")
	if err != nil {
		t.Fatal(err)
	}
	client, err := fetch.NewClient(fetch.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); _ = work.Close() })
	p := profile.Defaults()
	p.Fetch.Allow = []string{strings.TrimPrefix(s.URL, "http://")}
	return &bench{T: t, work: work, t: Transfer{Source: &payload.Source{Client: client}, Profile: p, Limits: payload.Limits{Bytes: 1 << 30},
		Log: slog.New(slog.DiscardHandler), To: func(f io.Writer) io.Writer { return f }, Same: func(payload.Measure) error { return nil }}}
}

// file describes what the deposit says of the file.
func (s *server) file(digest []byte) payload.File {
	f := payload.File{Name: "x", URL: s.URL + "/x", Size: -1}
	if digest != nil {
		sum := sha256.Sum256(digest)
		f.Algorithm, f.Digest = "sha256", hex.EncodeToString(sum[:])
	}
	return f
}

// claim makes an attempt by a claim of its own, and returns what it has brought.
func (b *bench) claim(f payload.File) ([]byte, error) {
	b.Helper()
	b.n++
	c, err := b.work.Claim(bid, jid, fmt.Sprint("c", b.n))
	if err != nil {
		b.Fatal(err)
	}
	got := Write(0, func() (*store.Partial, error) { return c.Create(f.Name) }, func(p *store.Partial) (payload.Measure, error) { return b.t.Get(b.Context(), f, p) })
	got.Commit()
	defer func() { _ = c.Abandon() }()
	if got.Err != nil {
		return nil, got.Err
	}
	is, err := os.ReadFile(filepath.Join(b.work.Path(bid, jid), fmt.Sprint("claim-c", b.n), "files", f.Name))
	if err != nil {
		b.Fatal(err)
	}
	return is, nil
}

// left returns the names of what is there of files that are not complete.
func (b *bench) left() []string {
	names, err := filepath.Glob(filepath.Join(b.work.Path(bid, jid), "begun", "*"))
	if err != nil {
		b.Fatal(err)
	}
	return names
}

func content(n int, seed uint64) []byte {
	random := rand.New(rand.NewPCG(seed, 7))
	is := make([]byte, n)
	for i := range is {
		is[i] = byte(random.Uint32())
	}
	return is
}

// TestOnlyWhatIsMissing: a transfer that breaks off goes on where it was, by each later claim, and in
// all each byte is requested once.
func TestOnlyWhatIsMissing(t *testing.T) {
	t.Parallel()
	is := content(300_000, 1)
	s := newServer(t, is, 100_000, 0, 50_000, -1)
	b := newBench(t, s)
	for range 3 {
		if _, err := b.claim(s.file(is)); err == nil || len(b.left()) != 2 {
			t.Fatalf("%v, and there is %q", err, b.left())
		}
	}
	got, err := b.claim(s.file(is))
	if err != nil || !bytes.Equal(got, is) || len(b.left()) != 0 {
		t.Errorf("%d bytes, %v, and there is %q", len(got), err, b.left())
	}
	if want := []int{0, 100_000, 100_000, 150_000}; !slices.Equal(s.requested(), want) || s.total() != len(is) {
		t.Errorf("asked from %v, want %v; %d bytes were sent of %d", s.requested(), want, s.total(), len(is))
	}
}

// TestByTheDate: without an entity tag the date of the content is asked by.
func TestByTheDate(t *testing.T) {
	t.Parallel()
	is, modified := content(100_000, 1), time.Now().Add(-time.Hour).Truncate(time.Second)
	var mu sync.Mutex
	var ranges []string
	s := newServer(t, is)
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		ranges = append(ranges, r.Header.Get("Range"))
		if len(ranges) == 1 {
			w.Header().Set("Last-Modified", modified.UTC().Format(http.TimeFormat))
			w.Header().Set("Content-Length", fmt.Sprint(len(is)))
			_, _ = w.Write(is[:40_000])
			return
		}
		http.ServeContent(w, r, "x", modified, bytes.NewReader(is))
	})
	b := newBench(t, s)
	_, err := b.claim(s.file(nil))
	got, again := b.claim(s.file(nil))
	mu.Lock()
	defer mu.Unlock()
	if err == nil || again != nil || !bytes.Equal(got, is) || !slices.Equal(ranges, []string{"", "bytes=40000-"}) {
		t.Errorf("%v, %v, %d bytes, ranges %q", err, again, len(got), ranges)
	}
}

// TestAnotherContent: what is kept is one content as a whole, never parts of two, whatever the server
// says of it.
func TestAnotherContent(t *testing.T) {
	t.Parallel()
	old, now := content(100_000, 1), content(100_000, 2)
	for name, c := range map[string]struct {
		change func(s *server)
		asked  []int
	}{
		"by another tag": {func(s *server) { s.tag = `"v2"` }, []int{0, 0}},
		"by no tag":      {func(s *server) { s.tag = "" }, []int{0, 0}},
		"under its tag":  {func(*server) {}, []int{0, 60_000, 0}},
		"as a range of another size": {func(s *server) {
			s.lies = func(w http.ResponseWriter, from int) bool {
				if from == 0 {
					return false
				}
				w.Header().Set("Content-Range", "bytes 60000-99998/99999")
				w.WriteHeader(http.StatusPartialContent)
				_, _ = w.Write(make([]byte, 39_999))
				return true
			}
		}, []int{0, 60_000, 0}},
		"as another range": {func(s *server) {
			s.lies = func(w http.ResponseWriter, from int) bool {
				if from == 0 {
					return false
				}
				w.Header().Set("Content-Range", "bytes 0-99999/100000")
				w.WriteHeader(http.StatusPartialContent)
				_, _ = w.Write(now)
				return true
			}
		}, []int{0, 60_000, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, old, 60_000)
			b := newBench(t, s)
			if _, err := b.claim(s.file(now)); err == nil {
				t.Fatal("it was not cut off")
			}
			s.mu.Lock()
			s.is = now
			c.change(s)
			s.mu.Unlock()
			got, err := b.claim(s.file(now))
			if err != nil || !bytes.Equal(got, now) || !slices.Equal(s.requested(), c.asked) || len(b.left()) != 0 {
				t.Errorf("%v, asked from %v, want %v, and there is %q", err, s.requested(), c.asked, b.left())
			}
		})
	}
}

// TestNothingStaysThatCannotHelp: what is wrong is not the beginning of another attempt, and the
// content that is wrong all the same is fetched anew once.
func TestNothingStaysThatCannotHelp(t *testing.T) {
	t.Parallel()
	is := content(50_000, 1)
	s := newServer(t, is, 10_000, -1, -1)
	b := newBench(t, s)
	_, cut := b.claim(s.file([]byte("another")))
	_, err := b.claim(s.file([]byte("another")))
	if again, _ := fetch.MayRetry(err); cut == nil || err == nil || again || len(b.left()) != 0 || !slices.Equal(s.requested(), []int{0, 10_000, 0}) {
		t.Errorf("%v, %v, asked from %v, and there is %q", cut, err, s.requested(), b.left())
	}
}

// TestNotesOfWrongContent: what was noted of a content that is not what the deposit says goes.
func TestNotesOfWrongContent(t *testing.T) {
	t.Parallel()
	s := newServer(t, content(noteEvery+1000, 1))
	b := newBench(t, s)
	_, err := b.claim(s.file([]byte("another")))
	if again, _ := fetch.MayRetry(err); err == nil || again || len(b.left()) != 0 || !slices.Equal(s.requested(), []int{0}) {
		t.Errorf("%v, asked from %v, and there is %q", err, s.requested(), b.left())
	}
}

// TestDamagedBeginning: bytes that are not what was noted are not used, as after a power cut.
func TestDamagedBeginning(t *testing.T) {
	t.Parallel()
	is := content(50_000, 1)
	for name, damage := range map[string]func(at string) error{
		"other bytes": func(at string) error { return os.WriteFile(at, make([]byte, 10_000), 0o600) },
		"fewer bytes": func(at string) error { return os.Truncate(at, 9_999) },
		"none":        os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, is, 10_000)
			b := newBench(t, s)
			if _, err := b.claim(s.file(nil)); err == nil {
				t.Fatal("it was not cut off")
			}
			for _, at := range b.left() {
				if filepath.Ext(at) == "" {
					if err := damage(at); err != nil {
						t.Fatal(err)
					}
				}
			}
			if got, err := b.claim(s.file(nil)); err != nil || !bytes.Equal(got, is) || !slices.Equal(s.requested(), []int{0, 0}) {
				t.Errorf("%v, asked from %v", err, s.requested())
			}
		})
	}
}

// TestWorkerThatDies: a process that dies within a transfer has noted what there is of it, and the
// one after it requests what came since the last note, and what is missing.
func TestWorkerThatDies(t *testing.T) {
	t.Parallel()
	is := content(3*noteEvery+noteEvery/2, 1)
	s := newServer(t, is)
	b := newBench(t, s)
	dead, err := b.work.Claim(bid, jid, "dead")
	if err != nil {
		t.Fatal(err)
	}
	part, err := dead.Create("x")
	if err != nil {
		t.Fatal(err)
	}
	const died = "it died"
	b.t.To = func(f io.Writer) io.Writer {
		return writer(func(p []byte) (int, error) {
			if stat, _ := os.Stat(filepath.Join(b.work.Path(bid, jid), "claim-dead", "part", "1")); stat.Size() > 3*noteEvery {
				panic(died) // before it can note anything
			}
			return f.Write(p)
		})
	}
	func() {
		defer func() {
			if r := recover(); r != died {
				t.Errorf("%v", r)
			}
		}()
		_, _ = b.t.Get(t.Context(), s.file(nil), part)
	}()
	b.t.To = func(f io.Writer) io.Writer { return f }
	got, err := b.claim(s.file(nil))
	asked := s.requested()
	if err != nil || !bytes.Equal(got, is) || len(asked) != 2 || asked[1] < 3*noteEvery || asked[1] > 3*noteEvery+1<<20 {
		t.Errorf("%v, asked from %v", err, s.requested())
	}
}

// TestAnotherURL: what was noted of a file is not the beginning of another one by its name.
func TestAnotherURL(t *testing.T) {
	t.Parallel()
	is := content(50_000, 1)
	s := newServer(t, is, 10_000)
	b := newBench(t, s)
	_, cut := b.claim(s.file(nil))
	f := s.file(nil)
	f.URL += "?another"
	if got, err := b.claim(f); cut == nil || err != nil || !bytes.Equal(got, is) || !slices.Equal(s.requested(), []int{0, 0}) {
		t.Errorf("%v, %v, asked from %v", cut, err, s.requested())
	}
}

// TestWithoutAValidator: a content that its server does not name strictly begins anew.
func TestWithoutAValidator(t *testing.T) {
	t.Parallel()
	is := content(50_000, 1)
	for _, tag := range []string{"", `W/"v1"`} {
		s := newServer(t, is, 10_000)
		s.tag = tag
		b := newBench(t, s)
		_, cut := b.claim(s.file(nil))
		left := b.left()
		if got, err := b.claim(s.file(nil)); cut == nil || err != nil || !bytes.Equal(got, is) || !slices.Equal(s.requested(), []int{0, 0}) || len(left) != 0 {
			t.Errorf("%q: %v, %v, asked from %v, and there was %q", tag, cut, err, s.requested(), left)
		}
	}
}

type writer func(p []byte) (int, error)

// Write implements io.Writer.
func (w writer) Write(p []byte) (int, error) { return w(p) }
