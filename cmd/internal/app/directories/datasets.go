package directories

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/profiles"
	"github.com/accession-ingest/accession/cmd/internal/app/target"
	"github.com/accession-ingest/accession/domain"
	rules "github.com/accession-ingest/accession/domain/setting"
	"github.com/accession-ingest/accession/projections/query"
)

// Dataset is what becomes of the files of a dataset, and who said so.
type Dataset struct {
	ID           string `json:"id"` // its name
	Name         string `json:"name"`
	Collection   string `json:"collection"`
	Profile      string `json:"profile"`
	GroupPattern string `json:"group_pattern"` // "" = files have the group of their discovery
	ByVersion    bool   `json:"by_version"`
	// Rules say which files are processed and what they wait for, nil = all, at once.
	Rules *rules.Rules `json:"rules,omitempty"`
	// WithoutSlot is how many files may yet become ready and have no slot, although slots are
	// made from the names of groups; nil = they are not, or the tables cannot be read.
	WithoutSlot *int64      `json:"files_without_slot,omitempty"`
	Version     int64       `json:"version"` // of the setting
	By          string      `json:"by"`
	When        domain.Time `json:"when"`
	Why         string      `json:"why"`
}

func datasetOf(s query.Setting) Dataset {
	d := s.Dataset
	return Dataset{ID: s.Name, Name: s.Name, Collection: d.Collection, Profile: d.Profile, GroupPattern: d.GroupPattern, ByVersion: d.ByVersion, Rules: d.Rules,
		Version: s.Version, By: s.By, When: domain.At(s.When), Why: s.Why}
}

// DatasetEdit is what is said of a dataset, nil = it stays as it is.
type DatasetEdit struct {
	Profile, GroupPattern *string
	ByVersion             bool // of a new one
	Rules                 *rules.Rules
}

// Datasets lists the datasets by name, as the tables have them.
func Datasets(ctx context.Context, a *app.App) (list []Dataset, err error) {
	defer app.Explained(&err, "list datasets")
	set, err := inTables(ctx, a, domain.SettingDataset)
	list = []Dataset{}
	for _, s := range set {
		list = append(list, datasetOf(s))
	}
	return list, err
}

// ShowDataset returns a dataset.
func ShowDataset(ctx context.Context, a *app.App, name string) (d Dataset, err error) {
	defer app.Explained(&err, "show dataset "+name)
	s, err := shownSetting(ctx, a, domain.SettingDataset, name)
	if err != nil {
		return d, err
	}
	d = datasetOf(s)
	if d.Rules == nil || d.Rules.Slots == nil {
		return d, nil
	}
	if db, err := a.Open.DB(ctx); err == nil {
		if n, err := query.FilesWithoutSlot(ctx, db, name); err == nil {
			d.WithoutSlot = &n
		}
	}
	return d, nil
}

// AddDataset makes a dataset in the collection of a profile.
func AddDataset(ctx context.Context, a *app.App, name string, e DatasetEdit, why string) (c app.Changed, err error) {
	defer app.Explained(&err, "add dataset "+name)
	if err := reasoned(domain.SettingDataset, why); err != nil {
		return c, err
	}
	if _, err := setting(ctx, a, domain.SettingDataset, name); err == nil {
		return c, &app.Error{Kind: app.Refused, Err: fmt.Errorf("there is a dataset %s already", name), Hint: "`accession dataset set " + name + "` changes it"}
	} else if !isMissing(err) {
		return c, err
	}
	d := domain.Dataset{ByVersion: e.ByVersion}
	if e.Profile == nil {
		return c, &app.Error{Kind: app.Invalid, Err: errors.New("a dataset needs a profile"), Hint: "name it with --profile: its collection gets the files, and its limits hold for them"}
	}
	if err := editDataset(a, &d, e); err != nil {
		return c, err
	}
	return change(ctx, a, domain.SettingDataset, name, why, domain.SettingValue{Dataset: &d}, "files are found for it as soon as `accession discover add` names a directory")
}

// SetDataset changes a dataset. Its collection stays, and how its files are told apart.
func SetDataset(ctx context.Context, a *app.App, name string, e DatasetEdit, why string) (c app.Changed, err error) {
	defer app.Explained(&err, "set dataset "+name)
	if err := reasoned(domain.SettingDataset, why); err != nil {
		return c, err
	}
	is, err := setting(ctx, a, domain.SettingDataset, name)
	if err != nil {
		return c, err
	}
	d := *is.Dataset
	if err := editDataset(a, &d, e); err != nil {
		return c, err
	}
	if d.Collection != is.Dataset.Collection {
		return c, &app.Error{Kind: app.Refused, Err: fmt.Errorf("the profile %s is of the collection %s, and the dataset belongs to %s", d.Profile, d.Collection, is.Dataset.Collection), Hint: "choose a profile of that collection, or add another dataset"}
	}
	return change(ctx, a, domain.SettingDataset, name, why, domain.SettingValue{Dataset: &d}, "profile and groups count for files that are found from now on, rules for all that wait")
}

// editDataset sets what is given; the collection is that of the profile.
func editDataset(a *app.App, d *domain.Dataset, e DatasetEdit) error {
	if e.GroupPattern != nil {
		d.GroupPattern = *e.GroupPattern
	}
	if e.Rules != nil {
		d.Rules = e.Rules
	}
	if e.Profile == nil {
		return nil
	}
	set, err := a.Open.Profiles()
	if err != nil {
		return err
	}
	p, err := set.Get(*e.Profile)
	if err != nil {
		return err
	}
	d.Profile, d.Collection = p.Name, p.Collection
	return nil
}

// CollectionOf returns the collection of a dataset.
func CollectionOf(ctx context.Context, a *app.App, dataset string) (name string, err error) {
	defer app.Explained(&err, "find the dataset "+dataset)
	s, err := setting(ctx, a, domain.SettingDataset, dataset)
	if err != nil {
		return "", err
	}
	return s.Dataset.Collection, nil
}

// CollectionOfDiscovery returns the collection of the dataset of a discovery.
func CollectionOfDiscovery(ctx context.Context, a *app.App, discovery string) (name string, err error) {
	defer app.Explained(&err, "find the discovery "+discovery)
	s, err := setting(ctx, a, domain.SettingDiscovery, discovery)
	if err != nil {
		return "", err
	}
	return CollectionOf(ctx, a, s.Discovery.Dataset)
}

// inTables returns what is set of a kind.
func inTables(ctx context.Context, a *app.App, kind domain.SettingKind) ([]query.Setting, error) {
	db, err := a.Open.DB(ctx)
	if err != nil {
		return nil, err
	}
	return query.SettingsOfKind(ctx, db, kind)
}

// setting reads a setting that is set; the error is of kind NotFound if it is not.
func setting(ctx context.Context, a *app.App, kind domain.SettingKind, name string) (s domain.Setting, err error) {
	if err := domain.CheckHoldName(kind, name); err != nil {
		return s, &app.Error{Kind: app.Invalid, Err: err}
	}
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return s, err
	}
	is, err := handler.Live.Setting(ctx, kind, name)
	if err == nil && is.State.Value() == nil {
		noun := map[domain.SettingKind]string{domain.SettingDataset: "dataset", domain.SettingDiscovery: "discover"}[kind]
		return s, &app.Error{Kind: app.NotFound, Err: fmt.Errorf("there is no %s %s", kind, name), Hint: "`accession " + noun + " ls` lists them"}
	}
	return is.State, err
}

func isMissing(err error) bool {
	known, ok := errors.AsType[*app.Error](err)
	return ok && known.Kind == app.NotFound
}

// shownSetting is setting with who said so, when and why, as the log knows.
func shownSetting(ctx context.Context, a *app.App, kind domain.SettingKind, name string) (s query.Setting, err error) {
	if s.Setting, err = setting(ctx, a, kind, name); err != nil {
		return s, err
	}
	by, when, why := profiles.LastChange(ctx, a, s.Aggregate())
	s.By, s.When, s.Why = by, when.Time, why
	return s, nil
}

// reasoned returns an error if no reason is given for a change.
func reasoned(kind domain.SettingKind, why string) error {
	if strings.TrimSpace(why) == "" {
		return &app.Error{Kind: app.Invalid, Err: fmt.Errorf("a change of a %s needs a reason", kind), Hint: "say why with --reason; it stays in the history"}
	}
	return nil
}

// change sets a setting as a whole; an empty value removes it.
func change(ctx context.Context, a *app.App, kind domain.SettingKind, name, why string, to domain.SettingValue, effects ...string) (c app.Changed, err error) {
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return c, err
	}
	res, err := handler.QueueSetting(ctx, kind, name, func(domain.SettingValue) domain.SettingValue { return to }, strings.TrimSpace(why), a.Meta())
	if refused, ok := errors.AsType[*domain.Refused](err); ok && refused.Code == domain.CodeBadLimits {
		return c, &app.Error{Kind: app.Invalid, Err: errors.New(refused.Message)}
	}
	if err != nil {
		return c, err
	}
	return app.Changed{Target: target.Of(res.State.Aggregate()), Version: res.State.Version, From: word(res.Before), State: word(res.State),
		DryRun: a.DryRun, Effects: effects}, nil
}

// word says how a dataset or a discovery stands.
func word(s domain.Setting) string {
	switch {
	case s.Discovery == nil:
		return s.Status()
	case s.Discovery.Paused:
		return Paused
	}
	return Polled
}
