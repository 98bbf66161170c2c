// Package integration proves Spillway against real servers and real signals:
// emulators that others wrote, processes that are killed. It is a module of its
// own, so that what it needs stays out of the product.
//
//	go -C integration test ./...          what CI runs
//	go -C integration test ./... -full    the long edition
//
// Servers are installed from their package registries into the user's cache
// folder, started on loopback, and ended with the tests. Where one can't be
// had, its tests are skipped and say why; under CI=true that is a failure.
package integration
