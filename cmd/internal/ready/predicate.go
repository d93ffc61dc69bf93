package ready

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

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

// noFor is how long an answer is kept after which a file waits, by the log's time.
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

// asksAtOnce is how many questions are put at once.
const asksAtOnce = 4

// heard is which predicates were asked in a pass, by their URLs.
type heard struct {
	mu     sync.Mutex
	asked  map[string]bool // at all
	silent map[string]bool // and one question was not answered
}

// first reports whether a predicate was not asked before.
func (h *heard) first(url string) bool {
	if h.asked == nil {
		h.asked = map[string]bool{}
	}
	first := !h.asked[url]
	h.asked[url] = true
	return first
}

func (h *heard) isSilent(url string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.silent[url]
}

func (h *heard) fellSilent(url string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.silent == nil {
		h.silent = map[string]bool{}
	}
	h.silent[url] = true
}

// askAll puts the answers of predicates beside what is known of files that wait for nothing else.
// The first question of a pass to each predicate is put before the others, so that one that does
// not answer is asked about one file.
func (p *pass) askAll(ctx context.Context, all []candidate) {
	var first, rest []*candidate
	for i := range all {
		c := &all[i]
		if c.err != nil || c.rules.Predicate == nil {
			continue
		}
		if v := eligible.Decide(c.rules, c.facts); len(v.Waits) != 1 || v.Waits[0].Code != eligible.CodePredicate {
			continue
		}
		url := c.rules.Predicate.URL
		if a, kept := p.Asker.kept(c.WaitingFile, url, p.now.Time); kept {
			c.facts.Answer = &a
		} else if p.heard.first(url) {
			first = append(first, c)
		} else {
			rest = append(rest, c)
		}
	}
	for _, some := range [][]*candidate{first, rest} {
		var g errgroup.Group
		g.SetLimit(asksAtOnce)
		for _, c := range some {
			g.Go(func() error {
				p.ask(ctx, c)
				return nil
			})
		}
		_ = g.Wait() // none fails
	}
}

// ask puts the answer of a predicate beside what is known of a file. A predicate that does not
// answer is not asked again in this pass, and one after whose answer a file waits is not asked
// about it for a while.
func (p *pass) ask(ctx context.Context, c *candidate) {
	rule, f := *c.rules.Predicate, c.WaitingFile
	if ctx.Err() != nil || p.heard.isSilent(rule.URL) {
		return
	}
	a, err := p.Asker.answer(ctx, rule, f)
	if err != nil {
		p.heard.fellSilent(rule.URL)
		if ctx.Err() == nil && p.Asker.changed(rule.URL, true) {
			p.Log.Warn("the predicate of a dataset does not answer; each pass asks it again", "dataset", f.Dataset, "file", f.Hash, "error", err)
		}
		return
	}
	if !p.heard.isSilent(rule.URL) && p.Asker.changed(rule.URL, false) {
		p.Log.Info("the predicate of a dataset answers again", "dataset", f.Dataset, "file", f.Hash)
	}
	c.facts.Answer = &a
	if len(eligible.Decide(c.rules, c.facts).Waits) > 0 {
		p.Asker.keep(f, rule.URL, a, p.now.Time)
	}
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
		Ready    *bool            `json:"ready"`
		Why      string           `json:"why"`
		Metadata map[string]value `json:"metadata"`
	}
	switch {
	case err != nil:
		return said, err
	case resp.StatusCode != http.StatusOK:
		return said, fmt.Errorf("%s answers %s", fetch.Redact(rule.URL), resp.Status)
	case len(data) > maxReply || json.Unmarshal(data, &is) != nil || is.Ready == nil:
		return said, fmt.Errorf(`%s does not answer with {"ready": true} or {"ready": false, "why": "…"} in at most %d bytes`, fetch.Redact(rule.URL), maxReply)
	}
	said = eligible.Answer{Ready: *is.Ready, Why: short(is.Why), Metadata: map[string]string{}}
	for name, v := range is.Metadata {
		said.Metadata[name] = short(string(v))
	}
	return said, nil
}

// value is a value of metadata in an answer: a text, a number as it is written, true or false.
type value string

// UnmarshalJSON implements json.Unmarshaler.
func (v *value) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case '"':
		return json.Unmarshal(data, (*string)(v))
	case '{', '[', 'n':
		return errors.New("a value of metadata is a text, a number, true or false")
	}
	*v = value(data)
	return nil
}

// short returns a text on one line that fits into a reason.
func short(s string) string {
	r := []rune(text.Line(s))
	return string(r[:min(len(r), maxWhy)])
}

const (
	maxReply = 4096 // bytes of an answer
	maxWhy   = 200  // characters of its reason, and of a value
)
