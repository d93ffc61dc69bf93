// Package mint makes archival resource keys (ARKs) without a service.
//
// An ARK is ark:/NAAN/shoulder+body+check: the number of the name assigning
// authority, a shoulder that sets this installation's names apart from others
// of the same authority, a body, and a check character.
//
// Minting here is a pure function of the job's id: the same job always gets
// the same name, two jobs never share one, and a worker that starts a job over
// cannot mint twice. Two installations that share an authority number must use
// different shoulders, because both count their jobs from the same start.
package mint
