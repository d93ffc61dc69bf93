package app

import (
	"errors"
	"io/fs"

	"github.com/accession-ingest/accession/cmd/internal/profile"
)

// Profile is what a profile's file says, with defaults filled in.
type Profile = profile.Profile

// Profiles lists the profiles of the installation by name.
func (a *App) Profiles() (list []Profile, err error) {
	defer Explained(&err, "list profiles")
	set, err := a.Open.Profiles()
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

// Profile shows one profile.
func (a *App) Profile(name string) (p Profile, err error) {
	defer Explained(&err, "show profile "+name)
	set, err := a.Open.Profiles()
	if err != nil {
		return p, err
	}
	return set.Get(name)
}

// CheckProfiles reads all profiles in a directory as the service does at its start,
// and returns their names. The error, of kind Invalid, names every fault.
func CheckProfiles(dir string) (names []string, err error) {
	defer Explained(&err, "check "+dir)
	set, err := profile.Load(dir)
	var faults profile.Faults
	switch {
	case errors.As(err, &faults):
		return nil, &Error{Kind: Invalid, Err: faults, Hint: "deploy/profiles/reference.yaml explains every field"}
	case errors.Is(err, fs.ErrNotExist):
		return nil, &Error{Kind: NotFound, Err: err, Hint: "make the directory, copy deploy/profiles/reference.yaml into it under the collection's name, and adapt it; or name another with profiles_dir"}
	case err != nil:
		return nil, err
	}
	return set.Names(), nil
}
