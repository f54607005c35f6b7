module unit

go 1.26.0

require github.com/sixthcopy/sixthcopy v0.0.0

replace github.com/sixthcopy/sixthcopy => ../../..
