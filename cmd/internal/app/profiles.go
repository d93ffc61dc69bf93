package app

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/profile"
)

// Profile is what a profile's file says, with defaults filled in.
type Profile = profile.Profile

// ProfileSet returns the profiles as they are now; those of the files where ZooKeeper does not
// answer.
func (a *App) ProfileSet(ctx context.Context) (*profile.Set, error) {
	_, _ = a.Open.Live(ctx) // what else needs it says that it does not answer
	return a.Open.Profiles()
}

// readTimeout is how long it takes to read the profiles where ZooKeeper does not answer.
const readTimeout = 3 * time.Second

// ReadProfiles is ProfileSet for those who only read, and need nothing else of ZooKeeper.
func (a *App) ReadProfiles(ctx context.Context) (*profile.Set, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return a.ProfileSet(ctx)
}

// Profiles lists the profiles of the installation by name.
func (a *App) Profiles(ctx context.Context) (list []Profile, err error) {
	defer Explained(&err, "list profiles")
	set, err := a.ReadProfiles(ctx)
	if err != nil {
		return nil, err
	}
	list = []Profile{}
	for _, name := range set.Names() {
		p, err := set.Get(name)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}
