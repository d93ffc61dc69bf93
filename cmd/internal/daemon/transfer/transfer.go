// Package transfer brings a file from its server into the working directory. A transfer that was cut
// off goes on where it was, in the next attempt and after the death of a process too, if the server
// has named the content by a strong validator and still has it; else it begins anew.
package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"

	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
)

// noteEvery is after how many bytes of a file it is noted what there is of it: no more are requested
// again after the death of a process.
const noteEvery = 4 << 20

// Transfer gets files by the profile of their deposit.
type Transfer struct {
	*payload.Source
	Profile profile.Profile
	Limits  payload.Limits
	Log     *slog.Logger
	// To returns where the bytes are written that are meant for a file.
	To func(file io.Writer) io.Writer
	// Same returns an error of class content unless the content is what is known of it.
	Same func(payload.Measure) error
}

// Get writes a file to part, and compares it with the deposit. When that fails, part has what can be
// used by another attempt, and nothing if none can help.
func (t Transfer) Get(ctx context.Context, f payload.File, part *store.Partial) (m payload.Measure, err error) {
	if _, upload := store.KeyOf(f.URL); upload {
		if m, err = payload.NewMeasure(f); err == nil {
			err = t.Source.Get(ctx, t.Profile, f, io.MultiWriter(t.To(part), m), t.Limits)
		}
		return m, t.check(m, err)
	}
	m, of, err := t.beginning(f, part)
	if err != nil {
		return m, err
	}
	err = t.get(ctx, f, part, &m, of)
	if err = t.check(m, err); of != nil && other(err) {
		t.Log.Info("what came of a file that was begun does not fit; all of it is fetched anew", "file", f.Name, "bytes", of.Bytes, "error", err)
		if m, err = t.anew(f, part); err == nil {
			err = t.get(ctx, f, part, &m, nil)
			err = t.check(m, err)
		}
	}
	if again, _ := fetch.MayRetry(err); err != nil && ctx.Err() == nil && (!again || !payload.IsRemote(err)) {
		_ = part.Forget() // it is removed with the job in any case
	}
	return m, err
}

// check returns the first error of a file that has come.
func (t Transfer) check(m payload.Measure, err error) error {
	if err == nil {
		err = m.Check()
	}
	if err == nil {
		err = t.Same(m)
	}
	return err
}

// other reports whether an error says that the content is another one than is known of the file.
func other(err error) bool {
	var why *reason.Problem
	return errors.As(err, &why) && (why.Reason.Code == domain.CodeDigestMismatch || why.Reason.Code == reason.CodeSizeMismatch)
}

// anew makes a file empty.
func (t Transfer) anew(f payload.File, part *store.Partial) (m payload.Measure, err error) {
	if m, err = payload.NewMeasure(f); err == nil {
		err = part.Restart()
	}
	return m, err
}

// sourceOf names the URL of a file, which may be a secret.
func sourceOf(f payload.File) string {
	sum := sha256.Sum256([]byte(f.URL))
	return hex.EncodeToString(sum[:])
}

// beginning puts into part what an earlier attempt has noted, if its digest is what the note says.
func (t Transfer) beginning(f payload.File, part *store.Partial) (m payload.Measure, of *fetch.Beginning, err error) {
	if m, err = payload.NewMeasure(f); err != nil {
		return m, nil, err
	}
	from, n, ok := part.Beginning()
	if !ok {
		return m, nil, nil
	}
	defer func() { _ = from.Close() }()
	if n.Source == sourceOf(f) && n.Bytes <= t.Limits.Bytes {
		_, err = io.Copy(io.MultiWriter(t.To(part), m), io.LimitReader(from, n.Bytes))
		if err == nil && m.Bytes() == n.Bytes && m.SHA256() == n.SHA256 {
			return m, &fetch.Beginning{Bytes: n.Bytes, Validator: n.Validator, Size: n.Size}, nil
		}
	}
	if err != nil {
		return m, nil, err
	}
	m, err = t.anew(f, part)
	return m, nil, err
}

// get writes a file, or what is missing of it if the server sends only that.
func (t Transfer) get(ctx context.Context, f payload.File, part *store.Partial, m *payload.Measure, of *fetch.Beginning) error {
	body, info, err := t.Open(ctx, t.Profile, f, t.Limits, of)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	if info.From > 0 {
		t.Log.Info("a transfer goes on where it was cut off", "file", f.Name, "bytes", info.From, "of", info.Size)
	} else if m.Bytes() > 0 {
		if *m, err = t.anew(f, part); err != nil {
			return err
		}
	}
	notes := &notes{part: part, m: m, next: nextNote(m), log: t.Log,
		note: store.Note{Source: sourceOf(f), Validator: info.Validator, Size: info.Size}}
	_, err = io.Copy(io.MultiWriter(t.To(part), m, notes), body)
	if err != nil {
		notes.write()
	}
	return t.Limits.Broken(f, err)
}

// notes notes now and then what there is of a file, if another attempt can go on from there.
type notes struct {
	part *store.Partial
	m    *payload.Measure
	note store.Note
	next int64 // bytes at which it is noted
	log  *slog.Logger
}

// Write implements io.Writer, after the file and its measure have the bytes.
func (n *notes) Write(p []byte) (int, error) {
	if n.m.Bytes() >= n.next {
		n.write()
		n.next = nextNote(n.m)
	}
	return len(p), nil
}

// nextNote returns how many bytes a file has at its next note.
func nextNote(m *payload.Measure) int64 { return (m.Bytes()/noteEvery + 1) * noteEvery }

func (n *notes) write() {
	if n.note.Bytes, n.note.SHA256 = n.m.Bytes(), n.m.SHA256(); n.note.Validator == "" || n.note.Bytes == 0 {
		return
	}
	if err := n.part.Note(n.note); err != nil {
		n.log.Warn("what there is of a file could not be noted; a transfer that is cut off begins anew", "error", err)
	}
}
