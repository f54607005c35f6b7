module github.com/sixthcopy/sixthcopy/systems/retry-go

go 1.26.0

replace github.com/sixthcopy/sixthcopy => ../..

require (
	github.com/avast/retry-go/v4 v4.7.0
	github.com/sixthcopy/sixthcopy v0.0.0-00010101000000-000000000000
)
