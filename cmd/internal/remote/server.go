package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/cmd/internal/operation"
)

// Server is a service that answers over HTTP.
type Server struct {
	url    *url.URL
	sign   Credential
	client *http.Client
}

// Bounds of an exchange.
const (
	answerTime = 2 * time.Minute // until the answer to a request begins
	waitToSend = 5 * time.Second // for the word that a file is welcome, before it is sent anyway
	maxAnswer  = 1 << 28
	tries      = 3 // of a request that may be repeated
)

// Parse returns the URL of a service without a path. A name and password in it are refused,
// and so is http to another machine, which would show the key or session to the network.
func Parse(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, &app.Error{Kind: app.Invalid, What: "find the server", Err: errors.New("server is no URL of a service"), Hint: "write https://HOST or https://HOST:PORT, without a path, a name or a password"}
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme == "http" && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, &app.Error{Kind: app.Invalid, What: "find the server", Err: fmt.Errorf("http to %s would show your key to the network", u.Hostname()),
			Hint: "use https; http is for this machine, 127.0.0.1, and for a tunnel that ends on it"}
	}
	u.Path = ""
	return u, nil
}

// Open returns the service at a URL, which sees the credential with every request.
func Open(text string, c Credential) (*Server, error) {
	u, err := Parse(text)
	if err != nil {
		return nil, err
	}
	return &Server{url: u, sign: c, client: &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, ResponseHeaderTimeout: answerTime, ForceAttemptHTTP2: true, TLSHandshakeTimeout: answerTime, ExpectContinueTimeout: waitToSend},
		// The key is for this server only.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Error is the problem that a service answers with. It unwraps to the error of the use case.
type Error struct {
	problem *app.Error
	answer  problem.Problem
}

// Error implements error.
func (e *Error) Error() string { return e.problem.Error() }

// Unwrap returns the error of the use case.
func (e *Error) Unwrap() error { return e.problem }

// Problem returns the problem as the service has described it.
func (e *Error) Problem() problem.Problem { return e.answer }

// Ask carries out the operation of a name and returns its answer. in is a pointer to the
// input that the table names. When the connection breaks the request is repeated, one that
// changes something under the same key.
func Ask[O any](ctx context.Context, s *Server, name string, in any) (out O, err error) {
	return Send[O](ctx, s, name, in, nil)
}

// Send is Ask for an operation whose body is a file, which is sent from its begin.
func Send[O any](ctx context.Context, s *Server, name string, in any, file io.ReadSeeker) (out O, err error) {
	err = s.do(ctx, name, in, file, func(answer *http.Response) error {
		var got O // a broken answer leaves nothing behind
		if err := json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(&got); err != nil {
			return &brokenError{fmt.Errorf("its answer cannot be read: %w", err)}
		}
		out = got
		return nil
	})
	return out, err
}

// Fetch carries out an operation whose answer is no JSON, and writes the answer to w. When
// the connection breaks before the first byte the request is repeated, and not later. What
// was written is whole only if there is no error; its digest is compared where there is one.
func (s *Server) Fetch(ctx context.Context, name string, in any, file io.ReadSeeker, w io.Writer) error {
	out := &counted{w: w}
	return s.do(ctx, name, in, file, func(answer *http.Response) error {
		sum := sha256.New()
		_, err := io.Copy(io.MultiWriter(out, sum), answer.Body)
		switch want := answer.Header.Get("Repr-Digest"); {
		case out.err != nil:
			return out.err // of who reads it
		case err != nil && out.n > 0:
			return &app.Error{Kind: app.Lost, What: "get the answer of the server", Err: errors.New("it was cut off"),
				Hint: "what was written is not to be used: try again; if that ends so too, the file is not what was stored, and the service's log says more"}
		case err != nil:
			return &brokenError{err}
		case want != "" && want != "sha-256=:"+base64.StdEncoding.EncodeToString(sum.Sum(nil))+":":
			return &app.Error{Kind: app.Lost, What: "get the answer of the server", Err: errors.New("it has another digest than the server says"), Hint: "what was written is not to be used: try again"}
		}
		return nil
	})
}

// counted counts what is written.
type counted struct {
	w   io.Writer
	n   int64
	err error
}

// Write implements io.Writer.
func (c *counted) Write(p []byte) (n int, err error) {
	n, c.err = c.w.Write(p)
	c.n += int64(n)
	return n, c.err
}

// brokenError is the error of an exchange that has not come to its end: what was asked for
// may have been done.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

// do sends a request, again if need be, and has read read the answer.
func (s *Server) do(ctx context.Context, name string, in any, file io.ReadSeeker, read func(*http.Response) error) error {
	op := operation.Named(name)
	f, err := formOf(op, in)
	if err != nil {
		return err
	}
	pauses := &backoff.ExponentialBackOff{InitialInterval: time.Second / 2, Multiplier: 2, RandomizationFactor: 0.2, MaxInterval: 2 * time.Second}
	_, err = backoff.Retry(ctx, func() (struct{}, error) {
		err := s.once(ctx, op, f, file, read)
		broken, ok := errors.AsType[*brokenError](err)
		switch {
		case !ok:
			return struct{}{}, backoff.Permanent(err)
		case op.Write && f.header.Get(keyHeader) == "":
			return struct{}{}, backoff.Permanent(s.away(broken.err))
		}
		return struct{}{}, broken
	}, backoff.WithBackOff(pauses), backoff.WithMaxTries(tries), backoff.WithMaxElapsedTime(0))
	if broken, ok := errors.AsType[*brokenError](err); ok && ctx.Err() == nil {
		return s.away(broken.err)
	}
	return err
}

// once sends a request once, and has read read the answer, or returns the problem that the
// answer describes.
func (s *Server) once(ctx context.Context, op *operation.Operation, f form, file io.ReadSeeker, read func(*http.Response) error) error {
	r, err := s.request(ctx, op, f, file)
	if err != nil {
		return err
	}
	answer, err := s.client.Do(r)
	if err != nil {
		return &brokenError{err}
	}
	defer answer.Body.Close()
	if answer.StatusCode >= http.StatusMultipleChoices {
		return problemIn(answer)
	}
	return read(answer)
}

// request returns a request that is signed.
func (s *Server) request(ctx context.Context, op *operation.Operation, f form, file io.ReadSeeker) (*http.Request, error) {
	to := *s.url
	to.Path, to.RawPath, to.RawQuery = f.path, f.rawPath, f.query.Encode()
	r, err := http.NewRequestWithContext(ctx, op.Method, to.String(), bytes.NewReader(f.body))
	if err != nil {
		return nil, err
	}
	for key, values := range f.header {
		r.Header[key] = values
	}
	switch {
	case file != nil:
		size, err := file.Seek(0, io.SeekEnd)
		if err == nil {
			_, err = file.Seek(0, io.SeekStart)
		}
		if err != nil {
			return nil, err
		}
		if r.ContentLength, r.GetBody = size, nil; size > 0 {
			r.Body = io.NopCloser(io.LimitReader(file, size)) // the client closes it, and it may be sent again
		}
		r.Header.Set("Content-Type", "application/octet-stream")
		r.Header.Set("Expect", "100-continue") // a refusal comes before all of the file is sent
	case f.body != nil:
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("User-Agent", "accession")
	s.sign.set(r)
	return r, nil
}

// away returns the error of a service that does not answer.
func (s *Server) away(err error) error {
	var broken *url.Error
	if errors.As(err, &broken) {
		err = broken.Err // it says the URL, with what is asked for
	}
	return app.NoAnswer("the server "+s.url.String(), err, "is the URL right, and does `accession serve` run there with the role http?")
}

// problemIn returns the error that an answer describes.
func problemIn(answer *http.Response) error {
	var p problem.Problem
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxProblem)).Decode(&p); err != nil || p.Code == "" {
		return &app.Error{Kind: app.Unavailable, What: "the server", Err: fmt.Errorf("it answers with %s, which is no answer of this service", answer.Status),
			Hint: "does the URL name the service, and is a proxy between in order?"}
	}
	what, why, ok := strings.Cut(p.Detail, ": ")
	if !ok {
		what, why = "the server", p.Detail
	}
	e := &app.Error{Kind: app.Kind(p.Code), What: what, Err: errors.New(why), Hint: p.Hint}
	if e.Kind == app.Unauthenticated {
		e.Hint = "sign in with `accession login`, or set ACCESSION_API_KEY"
	}
	if n, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && n > 0 {
		e.RetryAfter = time.Duration(n) * time.Second
		if e.Hint == "" {
			e.Hint = fmt.Sprintf("try again in %v", e.RetryAfter)
		}
	}
	return &Error{problem: e, answer: p}
}

const maxProblem = 1 << 16
