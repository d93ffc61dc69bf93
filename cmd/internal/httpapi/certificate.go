package httpapi

import (
	"crypto/tls"
	"log/slog"
	"os"
	"sync"
	"time"
)

// lookEvery is how often the files of a certificate are looked at.
const lookEvery = time.Second

// certificate is one whose files are read again when they change.
type certificate struct {
	cert, key string // paths
	log       *slog.Logger

	mu      sync.Mutex
	now     *tls.Certificate
	looked  time.Time
	changed [2]time.Time // when the files were, as they are read
}

// get implements tls.Config.GetCertificate. Files that do not fit together yet, or at all,
// leave the certificate as it is.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if err := c.load(time.Now()); err != nil {
		c.log.Error("the new certificate cannot be used; the one before stays", "certificate", c.cert, "key", c.key, "error", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now, nil
}

// load reads the files if they have changed.
func (c *certificate) load(now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.looked) < lookEvery {
		return nil
	}
	c.looked = now
	var changed [2]time.Time
	for i, path := range []string{c.cert, c.key} {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		changed[i] = info.ModTime()
	}
	if changed == c.changed {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return err
	}
	c.now, c.changed = &pair, changed
	return nil
}
