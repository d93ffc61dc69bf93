package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
)

// key adds a user who may deposit, for a reason, and returns a key of it.
func (d *demo) key(ctx context.Context, user, why string) (string, error) {
	p, err := people.Of(ctx, d.app)
	if err != nil {
		return "", err
	}
	by := people.Machine(d.app)
	if _, err := p.Add(ctx, by, user, people.Profile{}, why); err != nil {
		return "", err
	}
	if _, err := p.Grant(ctx, by, user, access.Right{Role: access.Depositor, Scope: access.Everywhere}, false, why); err != nil {
		return "", err
	}
	k, err := p.AddKey(ctx, by, people.NewKey{User: user, Label: "demonstration"}, why)
	return k.Secret, err
}

// post deposits what a URL names, over HTTP.
func (d *demo) post(ctx context.Context, key, payload, title string) (s app.Submitted, err error) {
	body, err := json.Marshal(map[string]string{"profile": "demo", "type": string(domain.TypeFile), "url": payload, "title": title})
	if err != nil {
		return s, err
	}
	status, answer, err := d.ask(ctx, key, http.MethodPost, "/v1/submissions", body)
	if err == nil && status != http.StatusAccepted {
		err = fmt.Errorf("a deposit over HTTP is answered with %d: %s", status, answer)
	}
	if err == nil {
		err = json.Unmarshal(answer, &s)
	}
	return s, err
}

// hidden checks that a batch is not there for a key.
func (d *demo) hidden(ctx context.Context, key string, id domain.BatchID) error {
	status, answer, err := d.ask(ctx, key, http.MethodGet, "/v1/batches/"+string(id), nil)
	if err == nil && status != http.StatusNotFound {
		err = fmt.Errorf("another's batch is shown with %d: %s", status, answer)
	}
	return err
}

func (d *demo) ask(ctx context.Context, key, method, path string, body []byte) (status int, answer []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, method, d.door+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	res, err := d.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	answer, err = io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if closed := res.Body.Close(); err == nil {
		err = closed
	}
	return res.StatusCode, answer, err
}
