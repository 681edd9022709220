// Package openapitest starts a Daytona emulator for a test and holds every request and answer
// against Daytona's own descriptions of its API, where they are to be had: in the folder that
// OMOI_DAYTONA_OPENAPI names, else in ../shared/daytona beside the repository.
//
// A field or a parameter that the descriptions do not know fails the test too: the real server
// would pass over it in silence.
package openapitest
