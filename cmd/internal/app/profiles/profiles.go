// Package profiles has the use cases of single profiles: what they say and since when, their
// check, and their change while the service runs.
package profiles

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/target"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// What says what a profile is.
const (
	SourceFile    = "file"     // in profiles_dir
	SourceRunTime = "run time" // it was set while the service ran
)

// Shown is a profile and what says so.
type Shown struct {
	ID string `json:"id"` // its name
	profile.Profile
	Version string `json:"version"` // of the content
	Source  string `json:"source"`
	// File is the name of the file in profiles_dir, of [SourceFile].
	File string `json:"file,omitempty"`
	// Setting is the version of the setting, 0 = the profile was never set.
	Setting int64 `json:"setting_version"`
	// By, When and Why are of the last change, of [SourceRunTime]; empty = not known.
	By   string      `json:"by,omitempty"`
	When domain.Time `json:"when,omitzero"`
	Why  string      `json:"why,omitempty"`
	// Note says what is not known, "" = nothing.
	Note string `json:"note,omitempty"`
}

// Check reads all profiles in a directory as the service does at its start, and returns
// their names. The error, of kind Invalid, names every fault.
func Check(dir string) (names []string, err error) {
	defer app.Explained(&err, "check "+dir)
	set, err := profile.Load(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &app.Error{Kind: app.NotFound, Err: err, Hint: profile.First(dir)}
	case err != nil:
		return nil, faulty(err)
	}
	return set.Names(), nil
}

// faulty returns faults of profiles as an error of kind Invalid, and other errors as they are.
func faulty(err error) error {
	if faults, ok := errors.AsType[profile.Faults](err); ok {
		return &app.Error{Kind: app.Invalid, Err: faults, Hint: "`accession profile init` writes a profile that explains every field, as deploy/profiles/reference.yaml does"}
	}
	return err
}

// openTimeout is how long ZooKeeper may take to answer when a profile is only shown.
const openTimeout = 10 * time.Second

// Show returns a profile as it is now. Where ZooKeeper does not answer that is what its file
// says, with a note.
func Show(ctx context.Context, a *app.App, name string) (s Shown, err error) {
	defer app.Explained(&err, "show profile "+name)
	opening, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	var is eventstore.Loaded[domain.Setting]
	live, away := a.Open.Handler(opening)
	if away == nil {
		is, away = live.Live.Setting(opening, domain.SettingProfile, name)
	}
	set, err := a.Open.Profiles()
	if err != nil {
		return s, err
	}
	if s.Profile, err = set.Get(name); err != nil {
		if away != nil && profile.Missing(err) {
			err = fmt.Errorf("%w; it could not be asked whether one was set: %w", err, away)
		}
		return s, err
	}
	s.ID, s.Version, s.Source, s.File = name, s.Profile.Version, SourceFile, filepath.Base(s.Profile.File)
	if away != nil {
		s.Note = "this is what this process knows: it could not be asked whether something was set (" + away.Error() + ")"
		return s, nil //nolint:nilerr // said in the answer
	}
	s.Setting = is.State.Version
	if is.State.Profile == nil {
		return s, nil
	}
	s.Source, s.File = SourceRunTime, ""
	s.By, s.When, s.Why = LastChange(ctx, a, is.State.Aggregate())
	if s.Version != is.State.Profile.Version {
		s.Note = "version " + is.State.Profile.Version + " is set; this process could not read it yet, and uses the one before"
	}
	return s, nil
}

// Hidden stands for what only administrators see.
const Hidden = "hidden"

// WithoutSecrets returns what operators see of it: no mail addresses, and of the callback no
// query.
func (s Shown) WithoutSecrets() Shown {
	hide := func(text string) string {
		if text == "" {
			return ""
		}
		return Hidden
	}
	s.Notify.From = hide(s.Notify.From)
	s.Notify.To = slices.Clone(s.Notify.To)
	for i := range s.Notify.To {
		s.Notify.To[i] = Hidden
	}
	if head, _, has := strings.Cut(s.Callback.URL, "?"); has {
		s.Callback.URL = head + "?" + Hidden
	}
	return s
}

// LastChange returns who changed a setting last, when and why, as the log knows.
func LastChange(ctx context.Context, a *app.App, of domain.Aggregate) (by string, when domain.Time, why string) {
	log, err := a.Open.Log(ctx)
	if err != nil {
		return by, when, why
	}
	for e, err := range log.Read(ctx, eventstore.ReadOptions{Aggregate: &of}) {
		if err != nil {
			break
		}
		if d, ok := e.Data.(*domain.SettingChanged); ok {
			by, when, why = string(e.Actor), e.Time, d.Why
		}
	}
	return by, when, why
}

// maxContent is the most bytes of a profile that is set.
const maxContent = 64 << 10

// None is the version of a profile that there is not.
const None = "none"

// Sound is a content that could be set.
type Sound struct {
	Profile string   `json:"profile"`
	Version string   `json:"version"` // of the content
	From    string   `json:"from"`    // version of what the profile says now, none = there is no such profile
	Effects []string `json:"effects"` // what would be otherwise, a line each

	content string
}

// CheckContent reports what would be otherwise with a content of a profile. The error, of kind
// Invalid, names every fault with its line.
func CheckContent(ctx context.Context, a *app.App, content string) (s Sound, err error) {
	defer app.Explained(&err, "check a profile")
	p, err := checked("", content)
	if err != nil {
		return s, err
	}
	set, err := a.ReadProfiles(ctx)
	if err != nil {
		return s, err
	}
	return sound(set, p)
}

// sound returns what would be otherwise with a profile, if it fits those that there are.
func sound(set *profile.Set, p profile.Profile) (s Sound, err error) {
	was, err := set.Get(p.Name)
	made := profile.Missing(err)
	if err != nil && !made {
		return s, err
	}
	if err := set.Fits(p); err != nil {
		return s, faulty(err)
	}
	text, err := p.YAML()
	if err != nil {
		return s, err
	}
	s = Sound{Profile: p.Name, Version: p.Version, From: was.Version, Effects: differences(was, p, made), content: string(text)}
	if made {
		s.From = None
	}
	return s, nil
}

// Set replaces what a profile says by the content of a YAML file, or makes a profile. The
// content is checked as that of files is. It is kept before the setting names its version,
// so that a process that reads the one finds the other. from is the version of the only content that
// may be replaced, [None] = there must be no such profile, "" = any.
func Set(ctx context.Context, a *app.App, name, content, from, why string) (c app.Changed, err error) {
	defer app.Explained(&err, "set profile "+name)
	if err := reasoned(why); err != nil {
		return c, err
	}
	p, err := checked(name, content)
	if err != nil {
		return c, err
	}
	return among(ctx, a, func(set *profile.Set, version eventstore.Token) (c app.Changed, err error) {
		s, err := sound(set, p)
		if err != nil {
			return c, err
		}
		if s.From == s.Version {
			return c, &app.Error{Kind: app.Refused, Err: fmt.Errorf("the profile %s says this already, in version %s", name, p.Version), Hint: "`accession profile show " + name + "` shows it"}
		}
		if from != "" && from != s.From {
			return c, &app.Error{Kind: app.Outdated, Err: fmt.Errorf("the version of the profile %s is %s, not %s", name, s.From, from), Hint: "nothing was changed: read it again, and change what it says now"}
		}
		if !a.DryRun {
			records, err := a.Open.Records(ctx)
			if err != nil {
				return c, err
			}
			if err := records.KeepProfile(ctx, name, p.Version, s.content, a.Actor); err != nil {
				return c, err
			}
		}
		c, err = change(ctx, a, name, &domain.Profile{Version: p.Version, SHA256: profile.SHA256([]byte(s.content))}, why, version)
		c.From, c.State = s.From, s.Version
		c.Effects = slices.Concat(s.Effects, []string{"every process uses it within a second, also for deposits that are under way"})
		return c, err
	})
}

// tries bounds how often a change is compared again, since another profile was set meanwhile.
const tries = 20

// among makes a change that was compared with all profiles as they are, so that two that each
// fit alone do not both come to be.
func among(ctx context.Context, a *app.App, do func(set *profile.Set, version eventstore.Token) (app.Changed, error)) (c app.Changed, err error) {
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return c, err
	}
	profiles, err := a.Open.Profiles()
	if err != nil {
		return c, err
	}
	for range tries {
		version, err := handler.Profiles.ProfilesVersion(ctx)
		if err != nil {
			return c, err
		}
		set, err := profiles.Fresh(ctx)
		if err != nil {
			return c, err
		}
		if c, err = do(set, version); !errors.Is(err, eventstore.ErrOtherProfiles) {
			return c, err
		}
	}
	return app.Changed{}, &app.Error{Kind: app.Refused, Err: eventstore.ErrOtherProfiles, Hint: "nothing was changed: try again"}
}

// Rm removes what was set of a profile: its file counts again, and one without a file is gone.
func Rm(ctx context.Context, a *app.App, name, why string) (c app.Changed, err error) {
	defer app.Explained(&err, "remove what was set of profile "+name)
	if err := reasoned(why); err != nil {
		return c, err
	}
	known, err := a.ProfileSet(ctx)
	if err != nil {
		return c, err
	}
	of, missing := known.File(name)
	c, err = among(ctx, a, func(set *profile.Set, version eventstore.Token) (app.Changed, error) {
		if missing == nil {
			if _, err := known.Get(name); err == nil { // else it cannot be compared, and must be removed all the same
				if err := set.Fits(of); err != nil {
					return app.Changed{}, faulty(err)
				}
			}
		}
		return change(ctx, a, name, nil, why, version)
	})
	if err != nil {
		return c, err
	}
	if missing != nil {
		c.State, c.Effects = None, []string{"it has no file in profiles_dir of this process: it is gone, and the jobs of its deposits wait until it is set again"}
		return c, nil
	}
	c.State, c.Effects = of.Version, []string{"every process uses the file " + filepath.Base(of.File) + " of its profiles_dir again, within a second"}
	return c, nil
}

// change changes the setting of a profile, if the profiles are still those of the version.
func change(ctx context.Context, a *app.App, name string, to *domain.Profile, why string, version eventstore.Token) (c app.Changed, err error) {
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return c, err
	}
	res, err := handler.Profile(ctx, name, to, strings.TrimSpace(why), version, a.Meta())
	if err != nil {
		return c, err
	}
	c = app.Changed{Target: target.Of(res.State.Aggregate()), Version: res.State.Version, DryRun: a.DryRun}
	if was := res.Before.Profile; was != nil {
		c.From = was.Version
	}
	return c, nil
}

// reasoned returns an error if a change has no reason.
func reasoned(why string) error {
	if strings.TrimSpace(why) == "" {
		return &app.Error{Kind: app.Invalid, Err: errors.New("a change of a profile needs a reason"), Hint: "say why with --reason; it stays in the history"}
	}
	return nil
}

// checked returns the profile that a content says, which must be that of the name; "" = any.
func checked(name, content string) (p profile.Profile, err error) {
	if len(content) > maxContent {
		return p, &app.Error{Kind: app.Invalid, Err: fmt.Errorf("the profile has %d bytes, more than %d", len(content), maxContent), Hint: "a profile needs a few hundred"}
	}
	if p, err = profile.Parse(cmp.Or(name, "profile"), []byte(content)); err != nil {
		return p, faulty(err)
	}
	if name != "" && p.Name != name {
		return p, &app.Error{Kind: app.Invalid, Err: fmt.Errorf("the content is that of the profile %s, not %s", p.Name, name), Hint: "make name in the content the same as the profile that is set"}
	}
	return p, nil
}

// CheckFile returns an error if the content of a file is not a profile.
func CheckFile(file string, content []byte) error {
	_, err := profile.Parse(file, content)
	return err
}

// differences says in a line each what a profile will say otherwise.
func differences(was, to profile.Profile, made bool) (lines []string) {
	if made {
		return []string{"the profile is new, with the collection " + to.Collection}
	}
	old, now := fields(was), fields(to)
	both := maps.Clone(old)
	maps.Copy(both, now)
	for _, name := range slices.Sorted(maps.Keys(both)) {
		if old[name] != now[name] {
			lines = append(lines, name+" is "+orNone(now[name])+", was "+orNone(old[name]))
		}
	}
	return lines
}

func orNone(text string) string {
	if text == "" {
		return "left out"
	}
	return text
}

// fields returns the fields of a profile, by their paths.
func fields(p profile.Profile) map[string]string {
	all := map[string]string{}
	data, err := json.Marshal(p)
	var top any
	if err == nil {
		err = json.Unmarshal(data, &top)
	}
	if err == nil {
		flatten(all, "", top)
	}
	return all
}

func flatten(into map[string]string, path string, v any) {
	if object, ok := v.(map[string]any); ok {
		for name, value := range object {
			flatten(into, strings.TrimPrefix(path+"."+name, "."), value)
		}
		return
	}
	text, _ := json.Marshal(v) // it came from JSON
	if string(text) != "null" {
		into[path] = string(text)
	}
}
