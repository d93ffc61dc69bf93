package notify

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
)

// MailDrop is a directory into which mails are put, one file each, for a mail
// system to take away. Files whose names begin with a dot are not finished.
type MailDrop struct {
	Dir string // created when it is not there
}

// Deliver puts the message into the directory, as FileName(m.Key), and returns that
// name. When it returns without error, a power cut cannot take the mail away. A
// mail that is there already under the key is left as it is. No reader sees half a
// mail: it is written under a name of its own, synced, then renamed. The error
// is an *Error with CodeMailInvalid or CodeMailDrop.
func (d MailDrop) Deliver(m Message) (string, error) {
	text, err := m.Bytes()
	if err != nil {
		return "", err
	}
	return FileName(m.Key), d.Put(m.Key, text)
}

// Put is Deliver for a message that is written already, under its key.
func (d MailDrop) Put(key string, text []byte) error {
	if err := d.put(FileName(key), text); err != nil {
		return &Error{Code: CodeMailDrop, Class: domain.ClassSystem, Temporary: true, cause: err,
			Message: fmt.Sprintf("mail: cannot write into the drop directory: %v; look at its space and permissions", err)}
	}
	return nil
}

func (d MailDrop) put(name string, text []byte) error {
	if err := makeDir(d.Dir); err != nil {
		return err
	}
	root, err := os.OpenRoot(d.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	switch info, err := root.Lstat(name); {
	case err == nil && !info.Mode().IsRegular():
		return fmt.Errorf("%s is there and is not a file", name)
	case err == nil:
		return syncDir(d.Dir) // the process that wrote it may have died before
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	draft, err := stage(root, text)
	if err != nil {
		return err
	}
	if err := crash.Around("notify/mail/rename", func() error { return root.Rename(draft, name) }); err != nil {
		return errors.Join(err, root.Remove(draft))
	}
	return syncDir(d.Dir)
}

// stage writes the mail durably under a name that no mail system takes.
func stage(root *os.Root, text []byte) (draft string, err error) {
	draft = "." + rand.Text() + ".part"
	var f *os.File
	err = crash.Around("notify/mail/create", func() (err error) {
		f, err = root.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
		return err
	})
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	err = errors.Join(err, crash.Around("notify/mail/sync", f.Sync), f.Close())
	if err != nil {
		err = errors.Join(err, root.Remove(draft))
	}
	return draft, err
}

// makeDir creates a directory durably, parents included.
func makeDir(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	parent := filepath.Dir(dir)
	if err := makeDir(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(parent)
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(crash.Around("notify/drop/sync", f.Sync), f.Close())
}

// maxStem is how many bytes of a file's name come from its key, well below the 255
// that file systems take.
const maxStem = 200

// FileName returns the file of a key. Different keys have different files, also
// where a file system takes upper and lower case for the same; lower-case letters,
// digits and - stay as they are.
func FileName(key string) string {
	var b strings.Builder
	for i := range len(key) {
		c := key[i]
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	s := b.String()
	// A shortened name has a part that no other has: _ is never followed by s.
	if len(s) > maxStem {
		sum := sha256.Sum256([]byte(key))
		s = s[:maxStem/2] + "_sha256-" + hex.EncodeToString(sum[:])
	}
	return s + ".eml"
}
