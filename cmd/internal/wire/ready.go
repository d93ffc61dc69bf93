package wire

import (
	"context"
	"errors"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/ready"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/setting"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections/query"
)

// Readiness returns what decides about downloaded files without a job.
func (in *Installation) Readiness(ctx context.Context) (*ready.Checker, error) {
	c := &ready.Checker{Interval: in.cfg.ReadyInterval, Log: in.log.With("role", ready.Name), Limits: func(ctx context.Context) (func(string) domain.Limits, error) {
		all, err := in.fileLimits(ctx)
		return func(profile string) domain.Limits { return all.Of(profile).Download }, err
	}}
	var live *LiveState
	var db query.DB
	var work *store.Work
	err := openAll(ctx, into(&c.Files, in.FileHandler), into(&live, in.LiveState), into(&db, in.DB), into(&work, in.Work))
	if err != nil {
		return nil, err
	}
	c.Tables, c.Contents, c.Rules = ready.TablesOf{DB: db}, work.Local(), rulesFrom(live)
	c.Asker.Client = in.clientOf(live)
	return c, nil
}

// clientOf returns what makes requests as the profile of a dataset allows them.
func (in *Installation) clientOf(live *LiveState) func(ctx context.Context, dataset string) (*fetch.Client, error) {
	return func(ctx context.Context, dataset string) (*fetch.Client, error) {
		var client *fetch.Client
		var profiles *profile.Set
		if err := openAll(ctx, into(&client, in.client), into(&profiles, in.profileSet)); err != nil {
			return nil, err
		}
		is, err := live.Setting(ctx, domain.SettingDataset, dataset)
		if err != nil {
			return nil, err
		}
		if is.State.Dataset == nil {
			return nil, errors.New("the dataset was removed")
		}
		return withPolicy(client, profiles, is.State.Dataset.Profile)
	}
}

// withPolicy returns a client that makes requests as a profile allows them.
func withPolicy(client *fetch.Client, profiles *profile.Set, name string) (*fetch.Client, error) {
	p, err := profiles.Get(name)
	if err != nil {
		return nil, err
	}
	policy, err := fetch.PolicyOf(p.Fetch.Allow, time.Duration(p.Fetch.Timeout), int64(p.Fetch.MinRate))
	if err != nil {
		return nil, err
	}
	return client.With(policy), nil
}

// rulesFrom returns what reads the rules of datasets as they are now.
func rulesFrom(live *LiveState) func(ctx context.Context, dataset string) (setting.Rules, error) {
	return func(ctx context.Context, dataset string) (r setting.Rules, err error) {
		is, err := live.Setting(ctx, domain.SettingDataset, dataset)
		if errors.Is(err, eventstore.ErrNotFound) {
			err = nil // it was removed: its files are as those without rules
		}
		if d := is.State.Dataset; d != nil && d.Rules != nil {
			r = *d.Rules
		}
		return r, err
	}
}
