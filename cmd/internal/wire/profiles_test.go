package wire

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/domain"
)

// setWorld is what a process finds of profiles that are set.
type setWorld struct {
	set     map[string]domain.Profile
	damaged map[string]error
	away    error
	altered map[string]error // by version
	asked   int
	now     time.Time
	sets    int64
	dir     string
	log     bytes.Buffer
}

func (w *setWorld) SetProfiles(context.Context) (set map[string]domain.Profile, damaged map[string]error, err error) {
	w.asked++
	set, damaged = map[string]domain.Profile{}, map[string]error{}
	for name, p := range w.set {
		if err := w.damaged[name]; err != nil {
			damaged[name] = err
			continue
		}
		set[name] = p
	}
	return set, damaged, w.away
}

// process returns the profiles of a process that begins, with a file for maps.
func (w *setWorld) process() *profile.Set {
	files := (&profile.Set{}).With(profile.Profile{Name: "maps", Version: "file"})
	if w.dir != "" {
		files, _ = profile.Load(w.dir)
	}
	s := &setProfiles{files: profileFiles{is: files, dir: w.dir}, now: files, log: slog.New(slog.NewTextHandler(&w.log, nil)), clock: func() time.Time { return w.now }, sets: func() int64 { return w.sets },
		live: func() (setReader, bool) { return w, true },
		content: func(_ context.Context, at profileVersion) (profile.Profile, error) {
			return profile.Profile{Name: at.name, Version: at.Version, Collection: at.name}, w.altered[at.Version]
		}}
	return profile.Changing(s.current, nil, s.inFiles)
}

// TestProfilesOfAProcess: what is set counts within a second; what cannot be read stays as it
// was, with a line in the log, and a process that never knew it does not use the file instead.
func TestProfilesOfAProcess(t *testing.T) {
	t.Parallel()
	w := &setWorld{set: map[string]domain.Profile{}, damaged: map[string]error{}, altered: map[string]error{}, now: time.Unix(0, 0)}
	first := w.process()
	says := func(what string, set *profile.Set, name, version string) {
		t.Helper()
		switch p, err := set.Get(name); {
		case version == "missing" && profile.Missing(err), version == "unknown" && err != nil && !profile.Missing(err):
		case err != nil || p.Version != version:
			t.Errorf("%s: %s is %q (%v), want %s", what, name, p.Version, err, version)
		}
	}
	later := func() { w.now = w.now.Add(profilesPause) }
	says("nothing is set", first, "maps", "file")
	says("nothing is set", first, "films", "missing")
	w.set["maps"], w.set["films"] = domain.Profile{Version: "v1"}, domain.Profile{Version: "f1"}
	asked := w.asked
	says("it was asked just now", first, "maps", "file")
	if w.asked != asked {
		t.Error("ZooKeeper is asked for each profile")
	}
	says("it is asked for a profile that is not known", first, "films", "f1")
	says("and knows all then", first, "maps", "v1")
	w.set["maps"] = domain.Profile{Version: "v2"}
	w.sets++
	says("this process has set it", first, "maps", "v2")

	w.set["maps"], w.altered["v3"] = domain.Profile{Version: "v3"}, errors.New("it was altered")
	later()
	says("its content cannot be read", first, "maps", "v2")
	if log := w.log.String(); !strings.Contains(log, "stays as it was") || !strings.Contains(log, "profile=maps version=v2") || !strings.Contains(log, "it was altered") {
		t.Errorf("the log has %s", log)
	}
	w.set["films"] = domain.Profile{Version: "f2"}
	later()
	says("another is not concerned", first, "films", "f2")
	second := w.process()
	says("a process that begins does not use the file", second, "maps", "unknown")
	says("another is not concerned there", second, "films", "f2")
	later()
	says("nor later", second, "maps", "unknown")
	delete(w.altered, "v3")
	later()
	says("it can be read again", first, "maps", "v3")
	says("it can be read", second, "maps", "v3")

	w.damaged["films"] = errors.New("damaged node")
	later()
	says("its node cannot be read", first, "films", "f2")
	says("a process that begins", w.process(), "films", "unknown")
	delete(w.damaged, "films")
	w.away = errors.New("no answer")
	later()
	says("without ZooKeeper", first, "maps", "v3")
	says("without ZooKeeper", first, "rocks", "unknown")
	asked = w.asked
	says("it is not asked again at once", first, "rocks", "unknown")
	if w.asked != asked {
		t.Error("ZooKeeper is asked again and again while it does not answer")
	}
	says("a process that begins without ZooKeeper", w.process(), "maps", "unknown")
	w.away = nil
	delete(w.set, "maps")
	delete(w.set, "films")
	later()
	says("what was set is removed", first, "maps", "file")
	says("what was set is removed", first, "films", "missing")
}

// TestProfilesInFiles: files that change are read again once they are left alone. With a fault, or
// with what cannot change, all stays as it was, with a line in the log; a profile whose file is
// gone stays too.
func TestProfilesInFiles(t *testing.T) {
	t.Parallel()
	w := &setWorld{set: map[string]domain.Profile{}, damaged: map[string]error{}, now: time.Unix(0, 0), dir: t.TempDir()}
	write := func(name, more string) {
		t.Helper()
		text := "name: " + name + "\ncollection: " + name + "\nowner: The library\nidentifier: {naan: 99999, shoulder: fk4}\n" + more
		if err := os.WriteFile(filepath.Join(w.dir, name+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("maps", "description: first\n")
	set := w.process()
	later := func() { w.now = w.now.Add(profilesFresh) }
	says := func(what, name, description string) {
		t.Helper()
		p, err := set.Get(name)
		if description == "" && !profile.Missing(err) || description != "" && (err != nil || p.Description != description) {
			t.Errorf("%s: %s is %q (%v), want %q", what, name, p.Description, err, description)
		}
	}
	settle := func() {
		later()
		_, _ = set.Get("maps") // it is looked
		later()
	}
	settle()
	says("at first", "maps", "first")
	write("maps", "description: the second\n")
	later()
	says("who writes it may not have ended", "maps", "first")
	write("maps", "description: the second one\n")
	later()
	says("it was written again meanwhile", "maps", "first")
	later()
	says("it was left alone", "maps", "the second one")
	if p, err := set.File("maps"); err != nil || p.Description != "the second one" {
		t.Errorf("the file says %q, %v", p.Description, err)
	}
	for _, bad := range []string{"limits: {max_files: many}\n", "storage: file:///srv/other\n"} {
		w.log.Reset()
		write("maps", "description: not so\n"+bad)
		write("films", "description: films\n")
		settle()
		says("with "+bad, "maps", "the second one")
		says("with "+bad, "films", "")
		if log := w.log.String(); strings.Count(log, "stay as they were") != 1 || !strings.Contains(log, "maps.yaml") {
			t.Errorf("%q", log)
		}
	}
	w.set["maps"] = domain.Profile{Version: "v1"}
	write("maps", "description: below what was set\n")
	settle()
	if p, err := set.Get("maps"); err != nil || p.Version != "v1" {
		t.Errorf("it is set: %+v, %v", p, err)
	}
	says("a new file", "films", "films")
	target := filepath.Join(t.TempDir(), "films")
	for _, err := range []error{os.Remove(filepath.Join(w.dir, "films.yaml")), os.Symlink(target, filepath.Join(w.dir, "films.yaml"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	settle()
	says("a link that leads nowhere", "films", "films")
	if log := w.log.String(); !strings.Contains(log, "cannot be read") {
		t.Errorf("a link that leads nowhere: %q", log)
	}
	if err := os.WriteFile(target, []byte("name: films\ncollection: films\nowner: The library\nidentifier: {naan: 99999, shoulder: fk4}\ndescription: linked\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(profilesPause)
	settle()
	says("by a link", "films", "linked")
	if err := os.Remove(filepath.Join(w.dir, "films.yaml")); err != nil {
		t.Fatal(err)
	}
	settle()
	says("its file is gone", "films", "linked")
	delete(w.set, "maps")
	later()
	says("it is set no more", "maps", "below what was set")
	if log := w.log.String(); strings.Count(log, "whose files are gone") != 1 {
		t.Errorf("%q", log)
	}
}
