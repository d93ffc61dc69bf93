package people

import "github.com/accession-ingest/accession/domain/access"

// Self is who calls, and what the caller may do.
type Self struct {
	Name   string  `json:"name" doc:"Name of the user"`
	Rights []Right `json:"rights" doc:"What the user may do"`
}

// SelfOf returns what a caller is told about itself.
func SelfOf(c access.Caller) Self { return Self{Name: c.Name, Rights: rightsOf(c.Rights)} }
