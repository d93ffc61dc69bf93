// Package synced checks in tests that what a program has written would survive a
// power cut. It runs the test once more as a process of its own, sees
// each of its system calls (by ptrace, as a debugger does), and demands that the
// bytes of a file are on disk before it has its name, and the name, with the
// directories that lead there, before the program goes on. Linux only.
package synced
