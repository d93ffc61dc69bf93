package wire

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

const (
	// profilesFresh is how long it is not asked again whether a profile was set.
	profilesFresh = time.Second
	// profilesWait is how long the answer may take.
	profilesWait = 3 * time.Second
	// profilesPause is how long it is not asked again after there was no answer.
	profilesPause = 5 * time.Second
)

// Profiles implements app.Effects.
func (in *Installation) Profiles() (*profile.Set, error) { return in.profileSet(context.Background()) }

// profileSet returns the profiles of the files, and once the live state is open in this
// process what was set in their place. It changes by itself.
func (in *Installation) profileSet(ctx context.Context) (*profile.Set, error) {
	return in.profiles.get(ctx, func(context.Context) (*profile.Set, error) {
		stamp, err := profile.Stamp(in.cfg.ProfilesDir)
		var files *profile.Set
		if err == nil {
			files, err = profile.Load(in.cfg.ProfilesDir)
		}
		if err != nil {
			hint := "`accession config check` names every fault"
			if errors.Is(err, fs.ErrNotExist) {
				hint = profile.First(in.cfg.ProfilesDir)
			}
			return nil, failed("read the profiles", err, hint)
		}
		set := &setProfiles{files: profileFiles{dir: in.cfg.ProfilesDir, is: files, read: stamp, looked: stamp}, now: files, log: in.log, clock: time.Now, sets: in.profilesSet.Load, content: in.profileContent,
			live: func() (setReader, bool) {
				live := in.setReader.Load()
				return live, live != nil
			}}
		return profile.Changing(set.current, set.fresh, set.inFiles), nil
	})
}

// setProfiles are the profiles as they are now. Asking for them asks ZooKeeper at most once a
// second, unless one is wanted that is not known. What cannot be read stays as it is known;
// what this process never knew it does not replace with the file.
type setProfiles struct {
	files   profileFiles
	log     *slog.Logger
	clock   func() time.Time
	live    func() (from setReader, open bool)
	sets    func() int64 // how often this process has set one
	content func(ctx context.Context, at profileVersion) (profile.Profile, error)

	mu       sync.Mutex
	now      *profile.Set
	due      time.Time // when it is asked again
	seen     int64     // sets then
	ever     bool      // there was an answer
	away     error     // why there was none last
	unread   map[string]error
	contents map[profileVersion]profile.Profile // what is set
}

// setReader reads which profiles are set.
type setReader interface {
	SetProfiles(ctx context.Context) (set map[string]domain.Profile, damaged map[string]error, err error)
}

// profileVersion names a content, which never changes.
type profileVersion struct {
	name string
	domain.Profile
}

// current implements profile.Now.
func (s *setProfiles) current(wanted string) (*profile.Set, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	set := s.sets()
	live, open := s.live()
	if s.reload() {
		if s.due = (time.Time{}); !open {
			s.now = s.files.is
		}
	}
	missing := wanted != "" && s.away == nil && s.unread[wanted] == nil && !s.now.Has(wanted)
	if open && (missing || set != s.seen || !s.clock().Before(s.due)) {
		ctx, cancel := context.WithTimeout(context.Background(), profilesWait)
		s.away = s.read(ctx, live)
		cancel()
		s.seen, s.due = set, s.clock().Add(profilesFresh)
		if s.away != nil {
			s.log.Error("it is not known which profiles were set: they stay as they were", "error", s.away)
		}
		if s.away != nil || len(s.unread) > 0 {
			s.due = s.clock().Add(profilesPause)
		}
	}
	if err := s.unread[wanted]; err != nil {
		return s.now, err
	}
	if s.away != nil && (!s.ever || !s.now.Has(wanted)) {
		return s.now, s.away
	}
	return s.now, nil
}

// inFiles returns what the files say, as this process knows it.
func (s *setProfiles) inFiles() *profile.Set {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.files.is
}

// fresh reads which profiles were set, and returns them as they are then.
func (s *setProfiles) fresh(ctx context.Context) (*profile.Set, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if live, open := s.live(); open {
		if err := s.read(ctx, live); err != nil {
			return nil, err
		}
	}
	return s.now, nil
}

// read reads which profiles were set, and what this process does not know of them.
func (s *setProfiles) read(ctx context.Context, live setReader) error {
	versions, damaged, err := live.SetProfiles(ctx)
	if err != nil {
		return err
	}
	contents := map[profileVersion]profile.Profile{}
	var all []profile.Profile
	for name, is := range versions {
		at := profileVersion{name, is}
		p, known := s.contents[at]
		if !known {
			p, err = s.content(ctx, at)
		}
		if err != nil {
			damaged[name], err = err, nil
			continue
		}
		contents[at] = p
		all = append(all, p)
	}
	unread := map[string]error{}
	for name, why := range damaged {
		if s.ever && s.unread[name] == nil && s.now.Has(name) {
			p, _ := s.now.Get(name) // it has it
			all = append(all, p)
			s.log.Error("a profile that was set cannot be read: it stays as it was in this process", "profile", name, "version", p.Version, "error", why)
			continue
		}
		unread[name] = why
		s.log.Error("a profile that was set cannot be read: this process does not use it until it can", "profile", name, "error", why)
	}
	s.now, s.contents, s.unread, s.ever = s.files.is.With(all...), contents, unread, true
	return nil
}

// profileContent returns the profile that was kept under a version.
func (in *Installation) profileContent(ctx context.Context, at profileVersion) (p profile.Profile, err error) {
	records, err := in.Records(ctx)
	if err != nil {
		return p, err
	}
	content, err := records.Profile(ctx, at.name, at.Version)
	if err != nil {
		return p, err
	}
	p, err = profile.Kept(at.name, []byte(content), at.Profile.Version, at.SHA256)
	return p, err
}

// noteProfiles notes that profiles were set by this process.
func (l *LiveState) noteProfiles(changes []eventstore.Change) {
	for _, c := range changes {
		if c.Setting != nil && c.Setting.To.Kind == domain.SettingProfile {
			l.profilesSet.Add(1)
		}
	}
}
