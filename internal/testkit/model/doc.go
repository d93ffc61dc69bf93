// Package model is the workflow once more, as small as it can be said, written from the
// tables of transitions and from nothing of the program: no import but the standard
// library's. Its tests let random commands happen to it and to the program, over memory
// and over the real servers, and want the same of both. Queue is the same for the deposit
// queue, written from its rules and compared with package fair. Slot, Query and Entry are the
// same for slots, queries and entries of the compute queue, and are compared with the rules
// in domain.
package model
