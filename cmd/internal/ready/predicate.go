package ready

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/eligible"
	"github.com/accession-ingest/accession/domain/setting"
	"github.com/accession-ingest/accession/domain/text"
	"github.com/accession-ingest/accession/projections/query"
)

// Asker asks the predicates of datasets. Client is required.
type Asker struct {
	// Client makes requests as the profile of a dataset allows them.
	Client func(ctx context.Context, dataset string) (*fetch.Client, error)

	mu     sync.Mutex
	said   map[domain.FileHash]said
	silent map[string]bool // predicates that did not answer when they were asked last, by their URLs
}

// said is what a predicate has answered, and until when it is not asked again.
type said struct {
	version int64 // of the file
	url     string
	answer  eligible.Answer
	until   time.Time
}

// noFor is how long a no is kept, by the log's time.
const noFor = 15 * time.Second

// Question describes a file to a predicate.
type Question struct {
	Hash     domain.FileHash `json:"hash"`
	Dataset  string          `json:"dataset"`
	Group    string          `json:"group,omitempty"`
	Path     string          `json:"path"`
	Size     int64           `json:"size"` // in bytes
	SHA256   string          `json:"sha256"`
	Modified domain.Time     `json:"modified,omitzero"` // at its source
}

// ask returns the answer of a predicate about a file, nil = it gives none now. One that gives
// none is not asked again in this pass, and one that said no about a file for a while.
func (p *pass) ask(ctx context.Context, rule setting.Predicate, f query.WaitingFile) *eligible.Answer {
	if p.silent[rule.URL] {
		return nil
	}
	if a, kept := p.Asker.kept(f, rule.URL, p.now.Time); kept {
		return &a
	}
	a, err := p.Asker.answer(ctx, rule, f)
	if err != nil {
		p.silent[rule.URL] = true
		if ctx.Err() == nil && p.Asker.changed(rule.URL, true) {
			p.Log.Warn("the predicate of a dataset does not answer; each pass asks it again", "dataset", f.Dataset, "file", f.Hash, "error", err)
		}
		return nil
	}
	if p.Asker.changed(rule.URL, false) {
		p.Log.Info("the predicate of a dataset answers again", "dataset", f.Dataset, "file", f.Hash)
	}
	if !a.Ready {
		p.Asker.keep(f, rule.URL, a, p.now.Time)
	}
	return &a
}

// changed keeps whether a predicate is silent, and reports whether it was not so before.
func (a *Asker) changed(url string, silent bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.silent[url] == silent {
		return false
	}
	if a.silent == nil {
		a.silent = map[string]bool{}
	}
	if a.silent[url] = silent; !silent {
		delete(a.silent, url)
	}
	return true
}

// kept returns the answer that is kept of a file.
func (a *Asker) kept(f query.WaitingFile, url string, now time.Time) (eligible.Answer, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s, there := a.said[f.Hash]
	return s.answer, there && s.version == f.Version && s.url == url && now.Before(s.until)
}

// forget drops the answers that count no more.
func (a *Asker) forget(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for hash, s := range a.said {
		if !now.Before(s.until) {
			delete(a.said, hash)
		}
	}
}

// keep keeps an answer.
func (a *Asker) keep(f query.WaitingFile, url string, answer eligible.Answer, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.said == nil {
		a.said = map[domain.FileHash]said{}
	}
	a.said[f.Hash] = said{f.Version, url, answer, now.Add(noFor)}
}

// answer asks a predicate.
func (a *Asker) answer(ctx context.Context, rule setting.Predicate, f query.WaitingFile) (said eligible.Answer, err error) {
	client, err := a.Client(ctx, f.Dataset)
	if err != nil {
		return said, err
	}
	body, err := json.Marshal(Question{f.Hash, f.Dataset, f.Group, f.Path, f.Size, f.SHA256, f.Modified})
	if err != nil {
		return said, err
	}
	ctx, cancel := context.WithTimeout(ctx, rule.Timeout())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, rule.URL, bytes.NewReader(body))
	if err != nil {
		return said, fmt.Errorf("its URL is none: %s", fetch.Redact(rule.URL))
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return said, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	var is struct {
		Ready *bool  `json:"ready"`
		Why   string `json:"why"`
	}
	switch {
	case err != nil:
		return said, err
	case resp.StatusCode != http.StatusOK:
		return said, fmt.Errorf("%s answers %s", fetch.Redact(rule.URL), resp.Status)
	case len(data) > maxReply || json.Unmarshal(data, &is) != nil || is.Ready == nil:
		return said, fmt.Errorf(`%s does not answer with {"ready": true} or {"ready": false, "why": "…"} in at most %d bytes`, fetch.Redact(rule.URL), maxReply)
	}
	why := []rune(text.Line(is.Why))
	return eligible.Answer{Ready: *is.Ready, Why: string(why[:min(len(why), maxWhy)])}, nil
}

const (
	maxReply = 4096 // bytes of an answer
	maxWhy   = 200  // characters of its reason
)
