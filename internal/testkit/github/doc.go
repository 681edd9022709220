// Package github is a small server that speaks what omoi uses of GitHub: the REST API in the form of an Enterprise
// server (below /api/v3), with the shapes of the published description, and git over smart HTTP, so that real git
// clones from it and pushes to it. Repositories are real bare ones. Faults are switched on by tests.
package github
