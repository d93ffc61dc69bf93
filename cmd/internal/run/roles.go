package run

import (
	"fmt"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/wire"
)

// Role is a part of the service that a process can run.
type Role = string

// The roles. Any number of processes may run each: daemons share the work, the
// relay leads each shard once, the projector, the transfer, the polling of directories, the
// auditor and the copying by types run in one process at a time.
const (
	RoleDaemons   Role = wire.RoleDaemons // works on batches and jobs
	RoleRelay     Role = "relay"          // carries events from ZooKeeper to the log
	RoleProjector Role = "projector"      // applies the log to the tables
	RoleSweeper   Role = wire.RoleSweeper // ends attempts at files that are overdue
	RoleDiscover  Role = "discover"       // polls open directories
	RoleDownload  Role = "download"       // fetches the files of open directories
	RoleReady     Role = "ready"          // decides what becomes of downloaded files without a job
	RoleTransfer  Role = "transfer"       // makes batches of what is in the drop folder
	RoleAuditor   Role = "auditor"        // reads stored objects from time to time
	RoleTypes     Role = "types"          // copies events to a stream whose subjects have their type
	RoleHTTP      Role = "http"           // answers people and programs
)

// AllRoles are what `--roles all` means.
var AllRoles = []Role{RoleDaemons, RoleRelay, RoleProjector, RoleSweeper, RoleTransfer, RoleDiscover, RoleDownload, RoleReady, RoleAuditor}

// OptionalRoles run only where they are named.
var OptionalRoles = []Role{RoleTypes, RoleHTTP}

// ParseRoles reads a list with commas.
func ParseRoles(s string) ([]Role, error) {
	known := slices.Concat(AllRoles, OptionalRoles)
	var roles []Role
	for word := range strings.SplitSeq(s, ",") {
		named := []Role{strings.TrimSpace(word)}
		if named[0] == "all" {
			named = AllRoles
		}
		for _, r := range named {
			if !slices.Contains(known, r) {
				return nil, fmt.Errorf("there is no role %q: choose all, %s", word, strings.Join(known, ", "))
			}
			if !slices.Contains(roles, r) {
				roles = append(roles, r)
			}
		}
	}
	return roles, nil
}
