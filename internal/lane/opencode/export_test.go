package opencode

import "dragoman/internal/lane/lanetest"

// FakeProgram is the fake server for the tests from outside.
func FakeProgram() lanetest.Program { return newFake().run }
