package run

import (
	"fmt"
	"slices"
	"strings"
)

// Role is a part of the service that a process can run.
type Role = string

// The roles. Any number of processes may run each: daemons share the work, the
// relay leads each shard once, the projector runs in one process at a time.
const (
	RoleDaemons   Role = "daemons"   // works on batches and jobs
	RoleRelay     Role = "relay"     // carries events from ZooKeeper to the log
	RoleProjector Role = "projector" // applies the log to the tables
	RoleSweeper   Role = "sweeper"   // ends attempts at files that are overdue
)

// AllRoles are what `--roles all` means.
var AllRoles = []Role{RoleDaemons, RoleRelay, RoleProjector, RoleSweeper}

// ParseRoles reads a list with commas.
func ParseRoles(s string) ([]Role, error) {
	if s == "all" {
		return AllRoles, nil
	}
	var roles []Role
	for word := range strings.SplitSeq(s, ",") {
		r := strings.TrimSpace(word)
		if !slices.Contains(AllRoles, r) {
			return nil, fmt.Errorf("there is no role %q: choose all, %s, %s, %s or %s", word, RoleDaemons, RoleRelay, RoleProjector, RoleSweeper)
		}
		if !slices.Contains(roles, r) {
			roles = append(roles, r)
		}
	}
	return roles, nil
}
