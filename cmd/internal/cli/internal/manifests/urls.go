package manifests

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/accession-ingest/accession/domain/manifest"
)

// stallTimeout is how long a web server may send nothing.
const stallTimeout = time.Minute

var errStalled = errors.New("the server sends nothing any more")

func isURL(arg string) bool {
	return strings.HasPrefix(arg, "http://") || strings.HasPrefix(arg, "https://")
}

// filesAt returns the files at URLs, which are named by what their paths do not have in common.
func filesAt(urls []string) (found []file, err error) {
	paths := make([][]string, len(urls))
	for i, raw := range urls {
		if !isURL(raw) {
			return nil, fmt.Errorf("%s is no URL: give one directory, or URLs alone", raw)
		}
		if err := manifest.CheckURL(raw, false); err != nil {
			return nil, fmt.Errorf("%s: %w", raw, err)
		}
		u, err := url.Parse(raw)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(u.Path, "/") || u.Path == "" {
			return nil, fmt.Errorf("%s is the URL of a directory; give those of its files", raw)
		}
		paths[i] = append([]string{u.Host}, strings.Split(strings.TrimPrefix(u.Path, "/"), "/")...)
	}
	shared := inCommon(paths)
	of := map[string]string{}
	for i, raw := range urls {
		name := manifest.NormalName(strings.Join(paths[i][shared:], "/"))
		if err := manifest.CheckName(name); err != nil {
			return nil, fmt.Errorf("%s: %w", raw, err)
		}
		if other := of[name]; other != "" {
			return nil, fmt.Errorf("%s and %s would both be named %s; give one of them", other, raw, name)
		}
		of[name] = raw
		found = append(found, file{name: name, url: raw})
	}
	return found, nil
}

// inCommon returns how many segments all paths begin with, but for their last ones.
func inCommon(paths [][]string) int {
	n := len(paths[0]) - 1
	for _, p := range paths[1:] {
		n = min(n, len(p)-1)
		for i := range n {
			if p[i] != paths[0][i] {
				n = i
				break
			}
		}
	}
	return n
}

// overHTTP returns the reader of files at URLs. A digest that is kept is used if the server
// says the same size and time as before.
func overHTTP() reader {
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableCompression: true}}
	return func(ctx context.Context, f *file, k kept, at func(n int64)) (known bool, err error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		stalled := time.AfterFunc(stallTimeout, func() { cancel(errStalled) })
		defer stalled.Stop()
		known, err = f.fetch(ctx, client, k, func(n int64) {
			stalled.Reset(stallTimeout)
			at(n)
		})
		if errors.Is(context.Cause(ctx), errStalled) {
			err = errStalled
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", f.url, err)
		}
		return known, err
	}
}

// fetch computes the digest of the content of the file's URL, and its size and time.
func (f *file) fetch(ctx context.Context, client *http.Client, k kept, at func(n int64)) (known bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url, http.NoBody)
	if err != nil {
		return false, err
	}
	answer, err := client.Do(r)
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err // the caller names the URL
	}
	if err != nil {
		return false, fmt.Errorf("%w; see whether the server runs and can be reached from here", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return false, fmt.Errorf("the server answers %s; %s", answer.Status, remedyFor(answer.StatusCode))
	}
	if at := answer.Header.Get("Last-Modified"); at != "" {
		f.modified, _ = http.ParseTime(at) // another form is as if it were not given
	}
	if f.size = answer.ContentLength; k.SHA256 != "" && k.Size == f.size && k.Modified.Equal(f.modified) && !f.modified.IsZero() {
		f.sha256 = k.SHA256
		return true, nil
	}
	sum := sha256.New()
	n, err := io.Copy(&counted{sum, at}, answer.Body)
	if err != nil {
		return false, fmt.Errorf("after %d bytes: %w", n, err)
	}
	f.size, f.sha256 = n, hex.EncodeToString(sum.Sum(nil))
	return false, nil
}

// remedyFor returns what to do about an answer that has no file.
func remedyFor(status int) string {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return "make the file readable without a login: the service fetches it without one"
	case status == http.StatusTooManyRequests, status >= http.StatusInternalServerError:
		return "try again later"
	}
	return "correct the URL, or put the file there"
}

// counted is a hash that tells how many bytes it was given.
type counted struct {
	hash.Hash
	at func(n int64)
}

func (c *counted) Write(p []byte) (int, error) {
	c.at(int64(len(p)))
	return c.Hash.Write(p)
}
