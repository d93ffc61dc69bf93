package fair

import (
	"errors"
	"fmt"
	"slices"

	"github.com/accession-ingest/accession/domain/text"
)

const (
	maxUser   = 256 // bytes of the name of a user
	maxListed = 1000
)

// CheckUser refuses what cannot be a user in a setting.
func CheckUser(user string) error {
	if user == "" || len(user) > maxUser || !text.Valid(user) || text.Line(user) != user {
		return fmt.Errorf("%q is not the name of a user: use 1 to %d bytes of text on one line", user, maxUser)
	}
	return nil
}

// NormaliseUsers returns the users sorted, each once; nil stays nil.
func NormaliseUsers(users []string) ([]string, error) {
	if users == nil {
		return nil, nil
	}
	users = slices.Compact(slices.Sorted(slices.Values(users)))
	if len(users) > maxListed {
		return nil, fmt.Errorf("%d users are too many for one list: name at most %d", len(users), maxListed)
	}
	var faults []error
	for _, user := range users {
		faults = append(faults, CheckUser(user))
	}
	return append([]string{}, users...), errors.Join(faults...)
}
