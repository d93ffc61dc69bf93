package ready_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/ready"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/setting"
	"github.com/accession-ingest/accession/eventstore"
)

// predicate is a service that says whether files may be processed.
type predicate struct {
	mu     sync.Mutex
	status int
	answer string
	asked  []ready.Question
}

func (s *predicate) says(status int, answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status, s.answer, s.asked = status, answer, nil
}

func (s *predicate) questions() []ready.Question {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func (s *predicate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var q ready.Question
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil || r.Method != http.MethodPost {
		s.answer = err.Error()
	}
	s.asked = append(s.asked, q)
	w.WriteHeader(s.status)
	_, _ = io.WriteString(w, s.answer)
}

// serves serves a predicate, which the checker may ask about the dataset nights.
func (f *fixture) serves(service http.Handler) *httptest.Server {
	f.Helper()
	server := httptest.NewServer(service)
	f.Cleanup(server.Close)
	client, err := fetch.NewClient(fetch.Config{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(client.Close)
	policy, err := fetch.PolicyOf([]string{strings.TrimPrefix(server.URL, "http://")}, time.Minute, 0)
	if err != nil {
		f.Fatal(err)
	}
	f.Asker.Client = func(_ context.Context, dataset string) (*fetch.Client, error) {
		if dataset != "nights" {
			f.Errorf("a client for %s", dataset)
		}
		return client.With(policy), nil
	}
	return server
}

// TestPredicate: a file whose dataset has a predicate is ready once that says so. It is asked
// after all else is there; a no is kept for a while, and a service that does not answer is not
// asked about other files in the same pass.
func TestPredicate(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	service := &predicate{}
	server := f.serves(service)
	f.rules = setting.Rules{MinFiles: 2, Predicate: &setting.Predicate{URL: server.URL + "/may", TimeoutSeconds: 5}}

	var logged strings.Builder
	f.Log = slog.New(slog.NewTextHandler(&logged, nil))

	service.says(http.StatusOK, `{"ready": false, "why": "clouds"}`)
	a := f.arrive("a.txt", "text")
	f.pass(a, "DOWNLOADED")
	if asked := service.questions(); len(asked) > 0 {
		t.Errorf("asked before all else is there: %+v", asked)
	}
	b := f.arrive("b.txt", "other text")
	for range 2 {
		f.pass(a, "DOWNLOADED")
	}
	asked := service.questions()
	if len(asked) != 2 {
		t.Fatalf("asked %d times", len(asked))
	}
	is, err := f.files.Load(t.Context(), asked[0].Hash)
	if q := asked[0]; err != nil || q.Path != is.Spec.Path || q.Size != is.Size || q.SHA256 != is.SHA256 || q.Dataset != "nights" || q.Group != "one" {
		t.Errorf("%+v, %v", q, err)
	}
	for answer, status := range map[string]int{`{"ready": true}`: http.StatusInternalServerError, `{"why": "nothing"}`: http.StatusOK, "yes": http.StatusOK, `{"ready": true, "why": "` + strings.Repeat("x", 5000) + `"}`: http.StatusOK} {
		f.clock.Advance(15 * time.Second)
		service.says(status, answer)
		f.pass(a, "DOWNLOADED")
		if asked := service.questions(); len(asked) != 1 {
			t.Errorf("%.30s: asked %d times", answer, len(asked))
		}
	}
	service.says(http.StatusOK, `{"ready": true}`)
	f.pass(a, string(domain.FileReady))
	f.pass(b, string(domain.FileReady))
	if silent, again := strings.Count(logged.String(), "does not answer; each pass asks it again"), strings.Count(logged.String(), "answers again"); silent != 1 || again != 1 {
		t.Errorf("logged %d times that it is silent, %d times that it answers again, want once each:\n%s", silent, again, &logged)
	}
}

// TestMetadataOfFile: a file whose metadata its dataset does not take is skipped, and says why; one
// whose metadata are not said waits, and the predicate is not asked about it for a while; taken back by
// an operator, it is asked about anew.
func TestMetadataOfFile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	service := &predicate{}
	server := f.serves(service)
	most := 30.0
	f.rules = setting.Rules{Predicate: &setting.Predicate{URL: server.URL + "/may", TimeoutSeconds: 5}, Metadata: []setting.MetadataRule{{Name: "clouds", Max: &most}}}
	hash := f.arrive("a.txt", "text")
	service.says(http.StatusOK, `{"ready": true, "metadata": {"filter": "R"}}`)
	for range 2 {
		f.pass(hash, "DOWNLOADED")
	}
	if asked := service.questions(); len(asked) != 1 {
		t.Errorf("asked %d times", len(asked))
	}
	for _, odd := range []string{"null", "[30]", "{}"} {
		f.clock.Advance(15 * time.Second)
		service.says(http.StatusOK, `{"ready": true, "metadata": {"clouds": 3, "moon": `+odd+`}}`)
		f.pass(hash, "DOWNLOADED")
	}
	service.says(http.StatusOK, `{"ready": true, "metadata": {"clouds": 30.5}}`)
	f.pass(hash, "SKIPPED metadata_excluded")
	is, err := f.files.Load(t.Context(), hash)
	if err != nil || is.Reason.Class != domain.ClassContent || is.Reason.Message != "its clouds is 30.5, and its dataset takes 30 or less" {
		t.Errorf("%+v, %v", is.Reason, err)
	}
	f.do(hash, domain.ReopenFile{Reason: domain.Reason{Class: domain.ClassWait, Code: "requested", Message: "the clouds were counted anew"}}) // O3
	service.says(http.StatusOK, `{"ready": true, "metadata": {"clouds": "30", "dark": true}}`)
	f.pass(hash, "READY")
}

// TestPredicateIsAskedAtOnce: after the first question of a pass four are put at once, and no more;
// what becomes of the files stands in the log in their order, whichever answer comes first.
func TestPredicateIsAskedAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const atOnce, rounds = 4, 3
	var mu sync.Mutex
	asked, under := 0, 0
	together := make(chan struct{})
	server := f.serves(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q ready.Question
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		mu.Lock()
		asked++
		n, wait := asked, together
		if n > 1 && (n-1)%atOnce == 0 { // the last of a round lets all of it be answered
			close(together)
			together = make(chan struct{})
		}
		mu.Unlock()
		if n > 1 {
			select {
			case <-wait:
			case <-r.Context().Done():
				t.Error("a question was not put beside others")
			}
		}
		mu.Lock()
		under--
		mu.Unlock()
		_, _ = fmt.Fprintf(w, `{"ready": %t}`, strings.HasPrefix(q.Path, "yes"))
	}))
	open := f.Asker.Client
	f.Asker.Client = func(ctx context.Context, dataset string) (*fetch.Client, error) { // right before each question
		mu.Lock()
		defer mu.Unlock()
		if under++; under > atOnce {
			t.Errorf("%d questions at once", under)
		}
		return open(ctx, dataset)
	}
	f.rules = setting.Rules{KeepDuplicates: true, Predicate: &setting.Predicate{URL: server.URL + "/may", TimeoutSeconds: 60}}
	var want []string
	for i := range 1 + rounds*atOnce {
		name := fmt.Sprintf("%s%d.txt", []string{"yes", "no"}[i%2], i)
		if hash := f.arrive(name, name); i%2 == 0 {
			want = append(want, string(hash))
		}
	}
	slices.Sort(want)
	sum, err := f.Once(t.Context())
	if err != nil || sum.Errors > 0 || sum.Moved[domain.FileReady] != len(want) || asked != 1+rounds*atOnce {
		t.Errorf("%+v, %v, asked %d times", sum, err, asked)
	}
	var got []string
	for r, err := range f.log.Read(t.Context(), eventstore.ReadOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if m, is := domain.MoveOfFile(r.Data); is && m.To == domain.FileReady {
			got = append(got, r.Aggregate.ID)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the log has %v, want %v", got, want)
	}
}
