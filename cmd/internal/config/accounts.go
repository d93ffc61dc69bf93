package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Account is a user name with its password.
type Account struct{ User, Password string }

// AccountsOfMinters returns the accounts at services that make identifiers known, by the names
// of profiles.
func (c Config) AccountsOfMinters() map[string]Account {
	all, _ := parseAccounts(c.MinterCredentials) // Load has checked them
	return all
}

// AccountsOfServices returns the accounts at services outside that do steps of jobs, by the names
// of profiles; those at one of two services have a slash and the field that names it behind that.
func (c Config) AccountsOfServices() map[string]Account {
	all, _ := parseAccounts(c.ServiceCredentials) // Load has checked them
	return all
}

// Unused returns a sentence for each line of a setting that is for a profile which is not among
// these: nothing uses it. It shows nothing of the line, which may begin with a password by mistake.
func (c Config) Unused(profiles []string) (warnings []string) {
	for _, of := range []struct{ setting, text string }{{"callback_secrets", c.CallbackSecrets}, {"minter_credentials", c.MinterCredentials}, {"service_credentials", c.ServiceCredentials}} {
		n := 0
		for line := range strings.Lines(of.text) {
			n++
			name, _, _ := strings.Cut(line, ":")
			if of.setting == "service_credentials" {
				name = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(name), "/storage"), "/recording")
			}
			if name = strings.TrimSpace(name); name != "" && name[0] != '#' && !slices.Contains(profiles, name) {
				warnings = append(warnings, fmt.Sprintf("%s has a line for a profile that there is not, line %d: correct the name before the first colon, or remove the line", of.setting, n))
			}
		}
	}
	return warnings
}

// parseAccounts parses accounts: on each line a name, a colon, the user, a colon, the password.
// Empty lines and those that begin with # are left out. The error names each line that is wrong,
// and shows nothing of it.
func parseAccounts(text string) (map[string]Account, error) {
	all := map[string]Account{}
	var faults []error
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if trimmed := strings.TrimSpace(line); trimmed == "" || trimmed[0] == '#' {
			continue
		}
		name, rest, _ := strings.Cut(line, ":")
		user, password, ok := strings.Cut(rest, ":")
		name, user = strings.TrimSpace(name), strings.TrimSpace(user)
		_, twice := all[name]
		switch {
		case !ok || name == "" || user == "" || password == "":
			faults = append(faults, fmt.Errorf("line %d: write the name of a profile, a colon, the user name, a colon, and the password", n))
		case twice:
			faults = append(faults, fmt.Errorf("line %d: its profile has a line already", n))
		}
		all[name] = Account{user, password}
	}
	return all, errors.Join(faults...)
}
