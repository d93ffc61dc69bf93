// Package mint makes identifiers: archival resource keys (ARKs) and DOIs.
//
// An ARK is ark:/NAAN/shoulder+body+check: the number of the name assigning
// authority, a shoulder that sets this installation's names apart from others
// of the same authority, a body, and a check character. A DOI is
// doi:PREFIX/shoulder+body+check.
//
// Minting here is a pure function of the job's id: the same job always gets
// the same name, two jobs never share one, and a worker that starts a job over
// cannot mint twice. Two installations that share an authority must use
// different shoulders, because both count their jobs from the same start.
//
// Package service registers such a name with those who resolve it.
package mint
