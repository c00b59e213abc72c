"""The record of what agents were allowed and refused, by whom, in lines that prove each other."""
