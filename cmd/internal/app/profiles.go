package app

import (
	"errors"
	"io/fs"

	"github.com/accession-ingest/accession/cmd/internal/profile"
)

// Profile is what a profile's file says, with defaults filled in.
type Profile = profile.Profile

// Profiles lists the profiles of the installation by name.
func (a *App) Profiles() ([]Profile, error) {
	set, err := a.Open.Profiles()
	if err != nil {
		return nil, explain("list profiles", err)
	}
	list := []Profile{}
	for _, name := range set.Names() {
		p, err := set.Get(name)
		if err != nil {
			return nil, explain("list profiles", err)
		}
		list = append(list, p)
	}
	return list, nil
}

// Profile shows one profile.
func (a *App) Profile(name string) (Profile, error) {
	set, err := a.Open.Profiles()
	if err != nil {
		return Profile{}, explain("show profile "+name, err)
	}
	p, err := set.Get(name)
	return p, explain("show profile "+name, err)
}

// CheckProfiles reads all profiles in a directory as the service does at its start,
// and gives their names. The error, of kind Invalid, names every fault.
func CheckProfiles(dir string) ([]string, error) {
	set, err := profile.Load(dir)
	var faults profile.Faults
	if errors.As(err, &faults) {
		return nil, &Error{Kind: Invalid, What: "check " + dir, Err: faults, Hint: "deploy/profiles/reference.yaml explains every field"}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{Kind: NotFound, What: "check " + dir, Err: err, Hint: "make the directory, copy deploy/profiles/reference.yaml into it under the collection's name, and fit it; or name another with profiles_dir"}
	}
	if err != nil {
		return nil, explain("check "+dir, err)
	}
	return set.Names(), nil
}
