package work

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Refused is the error of a request that the server has refused.
type Refused struct {
	Status  int           // of HTTP
	Code    string        // such as forbidden
	Message string        `json:"detail"` // what is wrong
	Hint    string        // what to do about it
	After   time.Duration // the pause that the server asks for, 0 = none
}

// Error implements error.
func (r *Refused) Error() string {
	s := cmp.Or(r.Message, http.StatusText(r.Status), "status "+strconv.Itoa(r.Status))
	if r.Hint != "" {
		s += " (" + r.Hint + ")"
	}
	return s
}

// temporary reports whether the same request may be answered later.
func (r *Refused) temporary() bool {
	return r.Status >= http.StatusInternalServerError || r.Status == http.StatusTooManyRequests || r.Status == http.StatusRequestTimeout
}

// Bounds of what is read of an answer, in bytes, and of how long one takes beyond the wait.
const (
	maxAnswer  = 16 << 20
	answerTime = 30 * time.Second
)

// post sends JSON and reads JSON. 409 is [ErrLost].
func (w *Worker) post(ctx context.Context, path string, body, into any) error {
	return w.postOnce(ctx, path, "", body, into)
}

// postOnce is like post, under a key that is the same for every try of one request, "" = none.
func (w *Worker) postOnce(ctx context.Context, path, key string, body, into any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, longestWait*time.Second+answerTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.at(path), bytes.NewReader(data))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	a, err := w.send(r, true)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if into == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(a.Body, maxAnswer)).Decode(into); err != nil {
		return fmt.Errorf("%s: the answer cannot be read: %w", w.Server, err)
	}
	return nil
}

// at returns the URL of a path of the server.
func (w *Worker) at(path string) string { return strings.TrimSuffix(w.Server, "/") + path }

// send sends a request, with the key if it needs that, and returns an answer of success. 409 of
// the server is [ErrLost].
func (w *Worker) send(r *http.Request, key bool) (*http.Response, error) {
	if key {
		r.Header.Set("Authorization", "Bearer "+w.Key)
	}
	a, err := cmp.Or(w.Client, &http.Client{}).Do(r)
	if err != nil || a.StatusCode/100 == 2 {
		return a, err
	}
	defer a.Body.Close()
	if a.StatusCode == http.StatusConflict && strings.HasPrefix(r.URL.String(), w.at("/")) {
		return nil, ErrLost
	}
	refused := &Refused{Status: a.StatusCode}
	if s, err := strconv.Atoi(a.Header.Get("Retry-After")); err == nil && s > 0 {
		refused.After = time.Duration(s) * time.Second
	}
	_ = json.NewDecoder(io.LimitReader(a.Body, maxAnswer)).Decode(refused) // without JSON the status has to do
	refused.Status = a.StatusCode
	return nil, refused
}

// Input is a file or URL that work is about.
type Input struct {
	// URL is where it is; one that begins with a slash is of the server, and signed.
	URL    string `json:"url"`
	Name   string `json:"name"`
	Size   int64  `json:"size"`   // bytes; 0 = not known
	SHA256 string `json:"sha256"` // hexadecimal; "" = not known

	of *Worker
}

// Open gets the input; an error that says why it could not is a [*Failure], or [ErrLost]. Where its SHA-256 is known, reading ends with an error instead of
// [io.EOF] if the content has another one.
func (i Input) Open(ctx context.Context) (io.ReadCloser, error) {
	url := i.URL
	if strings.HasPrefix(url, "/") {
		url = i.of.at(url)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	a, err := i.of.send(r, false)
	if errors.Is(err, ErrLost) {
		return nil, err
	}
	if err != nil {
		return nil, &Failure{Class: "system", Message: "get " + i.Name + ": " + err.Error()}
	}
	if i.SHA256 == "" {
		return a.Body, nil
	}
	return &checked{ReadCloser: a.Body, sum: sha256.New(), of: i}, nil
}

// checked compares what was read with its digest at the end.
type checked struct {
	io.ReadCloser
	sum hash.Hash
	of  Input
}

// Read implements io.Reader.
func (c *checked) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.sum.Write(p[:n])
	if err == io.EOF && hex.EncodeToString(c.sum.Sum(nil)) != c.of.SHA256 {
		err = &Failure{Class: "content", Message: c.of.Name + " is not what its SHA-256 says"}
	}
	return n, err
}
