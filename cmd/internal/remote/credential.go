package remote

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

// Credential proves who calls: a key or the token of a session, or a name and password. The
// zero value proves nothing.
type Credential struct {
	Token          string
	Name, Password string
}

func (c Credential) set(r *http.Request) {
	switch {
	case c.Token != "":
		r.Header.Set("Authorization", "Bearer "+c.Token)
	case c.Name != "":
		r.SetBasicAuth(c.Name, c.Password)
	}
}

// Kept is the file in which a user's keys and sessions are, one for each server. Only the
// user may read it.
type Kept struct{ Path string }

// draftPrefix begins the name of a file that takes the place of the credentials when it is
// complete.
const draftPrefix = ".credentials-"

// saved is what the file has.
type saved struct {
	Servers map[string]string `json:"servers"` // token by URL
}

// KeptIn returns the file of a user: lookup returns variables of the environment, of which
// XDG_CONFIG_HOME and HOME are read.
func KeptIn(lookup func(name string) string) (Kept, error) {
	dir := lookup("XDG_CONFIG_HOME")
	if dir == "" {
		home := lookup("HOME")
		if home == "" {
			return Kept{}, &app.Error{Kind: app.Invalid, What: "find your credentials", Err: errors.New("neither XDG_CONFIG_HOME nor HOME is set"), Hint: "set HOME, or give a key in ACCESSION_API_KEY"}
		}
		dir = filepath.Join(home, ".config")
	}
	return Kept{filepath.Join(dir, "accession", "credentials.json")}, nil
}

// Token returns what is kept for a server, "" = nothing.
func (k Kept) Token(server string) (string, error) {
	s, err := k.read()
	return s.Servers[name(server)], err
}

// Keep keeps the token for a server in place of what it had; "" forgets it. The file changes
// as a whole, one program at a time. Drafts that a killed program has left are removed.
func (k Kept) Keep(server, token string) error {
	dir := filepath.Dir(k.Path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return k.fault(err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, ".credentials.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return k.fault(err)
	}
	defer func() { _ = lock.Close() }() // which unlocks it
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return k.fault(err)
	}
	drafts, err := filepath.Glob(filepath.Join(dir, draftPrefix+"*"))
	for _, draft := range drafts {
		err = errors.Join(err, os.Remove(draft))
	}
	if err != nil {
		return k.fault(err)
	}
	s, err := k.read()
	if err != nil {
		return err
	}
	if s.Servers == nil {
		s.Servers = map[string]string{}
	}
	if s.Servers[name(server)] = token; token == "" {
		delete(s.Servers, name(server))
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, draftPrefix+"*") // of mode 0600
	if err != nil {
		return k.fault(err)
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), k.Path)
	}
	if err != nil {
		return k.fault(errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

// read returns what the file has. One that others may read is refused.
func (k Kept) read() (s saved, err error) {
	info, err := os.Stat(k.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, k.fault(err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return s, &app.Error{Kind: app.Invalid, What: "read your credentials", Err: errors.New("others may read " + k.Path), Hint: "chmod 600 it, and revoke what is in it if others have read it"}
	}
	text, err := os.ReadFile(k.Path)
	if err == nil && json.Unmarshal(text, &s) != nil {
		err = errors.New("it is damaged") // the error of the decoder would quote it
	}
	if err != nil {
		return s, k.fault(err)
	}
	return s, nil
}

func (k Kept) fault(err error) error {
	return &app.Error{Kind: app.Invalid, What: "keep your credentials in " + k.Path, Err: err, Hint: "repair or remove the file, and sign in with `accession login`"}
}

// name returns a server as the file names it.
func name(server string) string { return strings.TrimRight(strings.ToLower(server), "/") }
