package compute

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/accession-ingest/accession/domain/entry"
)

// Cache keeps a directory for each group that a worker has worked on: its command keeps there
// what work on the same group needs again. When the directories have more than Size bytes
// together, those that were used longest ago are removed.
type Cache struct {
	dir  string
	size int64 // bytes
	lock *os.File

	mu     sync.Mutex
	groups map[string]*cached // by the names of their directories
	bytes  int64              // of all
}

// cached is the directory of a group.
type cached struct {
	bytes int64
	used  time.Time // when a command began or ended last
	users int       // commands that run in it
}

// OpenCache opens a directory, which is made if it is not there, for this process alone.
func OpenCache(dir string, size int64) (c *Cache, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	c = &Cache{dir: dir, size: size, lock: lock, groups: map[string]*cached{}}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("the cache %s is another worker's: name another directory", dir), lock.Close())
	}
	if err = c.read(); err == nil {
		err = c.trim()
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close lets other processes open the directory. A command that is being started has the lock
// file open too until it begins, so that closing it alone would not give the lock up.
func (c *Cache) Close() error {
	return errors.Join(syscall.Flock(int(c.lock.Fd()), syscall.LOCK_UN), c.lock.Close())
}

// read finds the directories of an earlier process.
func (c *Cache) read() error {
	found, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	for _, e := range found {
		if !e.IsDir() {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		g := &cached{used: info.ModTime()}
		if g.bytes, err = bytesBelow(filepath.Join(c.dir, e.Name())); err != nil {
			return err
		}
		c.groups[e.Name()], c.bytes = g, c.bytes+g.bytes
	}
	return nil
}

// nameOf returns the name of the directory of a group.
func nameOf(g entry.Group) string {
	sum := sha256.Sum256([]byte(g.Dataset + "\x00" + g.Group))
	return hex.EncodeToString(sum[:16])
}

// has reports whether there is a directory of a group.
func (c *Cache) has(g entry.Group) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.groups[nameOf(g)] != nil
}

// use returns the directory of a group. It stays until done is called, which measures it.
func (c *Cache) use(of entry.Group) (dir string, done func() error, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := nameOf(of)
	dir = filepath.Join(c.dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, err
	}
	g := c.groups[name]
	if g == nil {
		g = &cached{}
		c.groups[name] = g
	}
	g.users++
	return dir, func() error { return errors.Join(c.measure(dir, g), c.trim()) }, nil
}

// measure ends the use of a directory.
func (c *Cache) measure(dir string, g *cached) error {
	bytes, err := bytesBelow(dir)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes += bytes - g.bytes
	g.bytes, g.used = bytes, time.Now()
	g.users--
	return errors.Join(err, os.Chtimes(dir, g.used, g.used))
}

// trim removes directories that no command uses until the others are not too large.
func (c *Cache) trim() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.bytes > c.size {
		oldest := ""
		for name, g := range c.groups {
			if g.users == 0 && (oldest == "" || g.used.Before(c.groups[oldest].used)) {
				oldest = name
			}
		}
		if oldest == "" {
			return nil
		}
		if err := os.RemoveAll(filepath.Join(c.dir, oldest)); err != nil {
			return err
		}
		c.bytes -= c.groups[oldest].bytes
		delete(c.groups, oldest)
	}
	return nil
}

// bytesBelow returns the sizes of the files below a directory. What a command removes meanwhile
// counts nothing.
func bytesBelow(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	return bytes, err
}
